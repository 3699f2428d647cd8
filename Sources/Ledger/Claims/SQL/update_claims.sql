-- $1 original transactions, sorted; $2 players; $3 non-consumables granted under them, else null
UPDATE claims
SET player_id = changed.player_id, granted_transaction_id = changed.granted_transaction_id, claimed_at = now()
FROM unnest($1::text[], $2::text[], $3::text[]) AS changed (original_transaction_id, player_id, granted_transaction_id)
WHERE claims.original_transaction_id = changed.original_transaction_id;
