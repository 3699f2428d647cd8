-- Claims original transactions that nobody has claimed. Waits for another's uncommitted claim; what comes back is ours.
-- $1 original transactions, sorted, each once; $2 players; $3 bundles; $4 non-consumables about to be granted, else null
INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])
ON CONFLICT DO NOTHING
RETURNING original_transaction_id;
