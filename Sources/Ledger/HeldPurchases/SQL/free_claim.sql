-- Removes a claim's owner after a hold ended without a grant, unless a grant, another hold or a transfer to the
-- player needs the claim.
-- $1 original transaction, locked; $2 player
UPDATE claims
SET player_id = NULL, claimed_at = now()
WHERE original_transaction_id = $1 AND player_id = $2 AND granted_transaction_id IS NULL
    AND NOT EXISTS (SELECT FROM grants WHERE transaction_id = $1 AND player_id = $2)
    AND NOT EXISTS (
        SELECT FROM grants
        WHERE original_transaction_id = $1 AND original_transaction_id <> transaction_id AND player_id = $2)
    -- A disputed hold claims nothing.
    AND NOT EXISTS (
        SELECT FROM holds
        WHERE original_transaction_id = $1 AND player_id = $2 AND reason <> 'ownership_disputed')
    -- An operator transferred the subscription to the player.
    AND NOT EXISTS (
        SELECT FROM subscription_transfers WHERE original_transaction_id = $1 AND to_player_id = $2);
