-- Inserts claims that do not exist yet. Waits for another SQL transaction's uncommitted claim. Returns the inserted
-- claims.
-- $1 original transactions and periods, sorted, each once; $2 players, or null; $3 bundles; $4 the non-consumable that
-- will be granted, or the period's transaction, otherwise null
INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])
ON CONFLICT DO NOTHING
RETURNING original_transaction_id;
