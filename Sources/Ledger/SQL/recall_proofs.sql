-- $1 proofs: what Apple said of them, where all of it still stands in the ledger.
SELECT wanted.number, known.evidence
FROM unnest($1::bytea[]) WITH ORDINALITY AS wanted (proof, number)
CROSS JOIN LATERAL (SELECT evidence, transaction_ids FROM proofs WHERE proof = wanted.proof LIMIT 1) AS known
WHERE (
    SELECT bool_and(
        EXISTS (SELECT FROM grants WHERE grants.transaction_id = purchase.id)
        OR EXISTS (SELECT FROM holds WHERE holds.transaction_id = purchase.id))
    FROM unnest(known.transaction_ids) AS purchase (id));
