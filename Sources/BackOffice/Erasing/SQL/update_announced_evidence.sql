-- Replaces the evidence of announced purchases and clears their token.
-- $1 transactions, locked; $2 their evidence without the token, or null
UPDATE announced_purchases AS told
SET evidence = changed.evidence, token = NULL
FROM unnest($1::text[], $2::bytea[]) AS changed (transaction_id, evidence)
WHERE told.transaction_id = changed.transaction_id AND told.transaction_id = ANY ($1::text[]);
