-- Finds receipts whose purchases are all in the ledger: one row for each.
-- A remembered proof comes with Apple's answer, if all of the answer's transactions are granted or held.
-- A receipt that was read here comes without evidence, if all of its transactions are granted, or held and not refused.
-- The planner might make EXISTS a hash of the whole table, which was small when the plan was made: hence LIMIT 1.
-- $1 proofs; $2 numbers of receipts that were read here, $3 transactions of each, $4 the only player who counts, or null
SELECT wanted.number, known.evidence
FROM (SELECT unnest($1::bytea[]) AS proof, generate_subscripts($1::bytea[], 1) AS number) AS wanted
CROSS JOIN LATERAL (SELECT evidence, transaction_ids FROM proofs WHERE proof = wanted.proof LIMIT 1) AS known
WHERE (
    SELECT bool_and(
        (SELECT true FROM grants WHERE grants.transaction_id = purchase.id LIMIT 1) IS NOT NULL
        OR (SELECT true FROM holds WHERE holds.transaction_id = purchase.id LIMIT 1) IS NOT NULL)
    FROM unnest(known.transaction_ids) AS purchase (id))
UNION ALL
SELECT wanted.number, NULL
FROM (SELECT unnest($2::int8[]) AS number, unnest($3::text[]) AS id, unnest($4::text[]) AS claimant) AS wanted
GROUP BY wanted.number
HAVING bool_and(coalesce(
    (SELECT wanted.claimant IS NULL OR grants.player_id = wanted.claimant
    FROM grants WHERE grants.transaction_id = wanted.id LIMIT 1),
    (SELECT true FROM holds
    WHERE holds.transaction_id = wanted.id AND (wanted.claimant IS NULL OR holds.player_id = wanted.claimant)
        AND holds.refused_at IS NULL
    LIMIT 1),
    false));
