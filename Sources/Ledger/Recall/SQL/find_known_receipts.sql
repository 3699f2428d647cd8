-- Finds receipts whose purchases are all in the ledger. Returns one row for each such receipt.
-- For a remembered proof, returns Apple's answer, if all of its transactions are granted or held.
-- For a receipt that receiptd read itself, returns no evidence. Such a receipt is known if all of its transactions are
-- granted, or held and not refused. A disputed hold does not count, because another player may still get the purchase.
-- For EXISTS, a plan from a time when the table was small might build a hash of the whole table. So each look-up has
-- LIMIT 1.
-- $1 proofs; $2 numbers of receipts that receiptd read itself, $3 transactions of each, $4 the only player who counts,
-- or null
SELECT wanted.number, known.evidence
FROM (SELECT unnest($1::bytea[]) AS proof, generate_subscripts($1::bytea[], 1) AS number) AS wanted
CROSS JOIN LATERAL (SELECT evidence, transaction_ids FROM proofs WHERE proof = wanted.proof LIMIT 1) AS known
WHERE (
    SELECT bool_and(
        (SELECT true FROM grants WHERE grants.transaction_id = purchase.id LIMIT 1) IS NOT NULL
        OR (SELECT true FROM holds
            WHERE holds.transaction_id = purchase.id AND holds.reason <> 'ownership_disputed'
            LIMIT 1) IS NOT NULL)
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
        AND holds.reason <> 'ownership_disputed' AND holds.refused_at IS NULL
    LIMIT 1),
    false));
