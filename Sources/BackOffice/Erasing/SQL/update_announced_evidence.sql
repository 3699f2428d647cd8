-- Without the token. $1 transactions, locked; $2 what Apple said of them
UPDATE announced_purchases AS told
SET evidence = changed.evidence, token = NULL
FROM unnest($1::text[], $2::bytea[]) AS changed (transaction_id, evidence)
WHERE told.transaction_id = changed.transaction_id AND told.transaction_id = ANY ($1::text[]);
