-- Writes evidence with a refund to announced purchases and their holds. Ends the leases, because the workers that have
-- the leases read the older evidence. Leaves out a hold with three leases without a result.
-- $1 transactions, locked; $2 their evidence
WITH changed AS (
    SELECT * FROM unnest($1::text[], $2::bytea[]) AS changed (transaction_id, evidence)
), held AS (
    UPDATE holds
    SET evidence = changed.evidence, leased_until = NULL
    FROM changed
    WHERE holds.transaction_id = changed.transaction_id AND holds.transaction_id = ANY ($1::text[])
        AND holds.source <> 'submission' AND holds.takes < 3
)
UPDATE announced_purchases AS told
SET evidence = changed.evidence, leased_until = NULL
FROM changed
WHERE told.transaction_id = changed.transaction_id AND told.transaction_id = ANY ($1::text[]);
