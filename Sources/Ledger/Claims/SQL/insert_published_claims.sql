-- Enters claims that published events name. A claim that has an owner stays as it is.
-- $1 original transactions, periods and restored copies, sorted, each once; $2 players; $3 bundles; $4 the granted
-- transaction of a period, of a copy or of a transaction that is its own original, else null
INSERT INTO claims AS known (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])
ON CONFLICT (original_transaction_id) DO UPDATE
SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id, claimed_at = now()
WHERE known.player_id IS NULL;
