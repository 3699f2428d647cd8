-- $1 proofs: what Apple said of them, where all of it is still in the ledger.
-- LIMIT and no EXISTS: of that the planner makes a hash of the whole table, small as it was when the plan was made.
SELECT wanted.number, known.evidence
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (proof, number)
CROSS JOIN LATERAL (SELECT evidence, transaction_ids FROM proofs WHERE proof = wanted.proof LIMIT 1) AS known
WHERE (
    SELECT bool_and(
        (SELECT true FROM grants WHERE grants.transaction_id = purchase.id LIMIT 1) IS NOT NULL
        OR (SELECT true FROM holds WHERE holds.transaction_id = purchase.id LIMIT 1) IS NOT NULL)
    FROM unnest(known.transaction_ids) AS purchase (id));
