-- Stores an operator's refusal of a hold, before the hold is deleted.
-- $1 transaction; $2 player; $3 operator; $4 the event that ends the hold
WITH refused AS (
    INSERT INTO refusals (transaction_id, player_id)
    SELECT transaction_id, player_id FROM holds WHERE transaction_id = $1 AND player_id = $2
    ON CONFLICT DO NOTHING
)
INSERT INTO hold_decisions (
    transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator, event_id)
SELECT transaction_id, player_id, bundle_id, product_id, submission_id, reason, 'reject', $3, $4
FROM holds
WHERE transaction_id = $1 AND player_id = $2;
