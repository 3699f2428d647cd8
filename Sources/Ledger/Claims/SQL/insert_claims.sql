-- Claims original transactions and periods that nobody has claimed. Waits for the uncommitted claim of another SQL
-- transaction. The returned claims are ours.
-- $1 original transactions and periods, sorted, each once; $2 players, or null; $3 bundles; $4 the non-consumable that
-- is about to be granted, or the period's transaction, else null
INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])
ON CONFLICT DO NOTHING
RETURNING original_transaction_id;
