-- Changes claims. The caller has locked them.
-- $1 original transactions and periods, sorted; $2 players, or null; $3 the non-consumable that is granted under the
-- claim, or the period's transaction, otherwise null
UPDATE claims
SET player_id = changed.player_id, granted_transaction_id = changed.granted_transaction_id, claimed_at = now()
FROM unnest($1::text[], $2::text[], $3::text[]) AS changed (original_transaction_id, player_id, granted_transaction_id)
WHERE claims.original_transaction_id = changed.original_transaction_id;
