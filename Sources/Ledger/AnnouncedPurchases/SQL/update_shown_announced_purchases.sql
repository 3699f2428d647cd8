-- With the refund. Whoever has leased one has older evidence: the lease is over. $1 transactions, locked; $2 their evidence
UPDATE announced_purchases AS told
SET evidence = changed.evidence, leased_until = NULL
FROM unnest($1::text[], $2::bytea[]) AS changed (transaction_id, evidence)
WHERE told.transaction_id = changed.transaction_id AND told.transaction_id = ANY ($1::text[]);
