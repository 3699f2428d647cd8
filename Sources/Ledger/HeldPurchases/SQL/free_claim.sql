-- Removes a claim's owner after a hold ended without a grant, unless there is a grant under the original transaction or
-- another hold of the player. Grants of any player count, because the grants of a transferred subscription stay with
-- the earlier owner.
-- $1 original transaction, locked; $2 player
UPDATE claims
SET player_id = NULL, claimed_at = now()
WHERE original_transaction_id = $1 AND player_id = $2 AND granted_transaction_id IS NULL
    AND NOT EXISTS (SELECT FROM grants WHERE transaction_id = $1)
    AND NOT EXISTS (
        SELECT FROM grants
        WHERE original_transaction_id = $1 AND original_transaction_id <> transaction_id)
    -- A disputed hold claims nothing.
    AND NOT EXISTS (
        SELECT FROM holds
        WHERE original_transaction_id = $1 AND player_id = $2 AND reason <> 'ownership_disputed');
