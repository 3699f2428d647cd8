-- Stores an operator's refusal of a hold, before the hold is deleted. The refusal also has a row for the period, or for
-- the original of a restored non-consumable, so that another transaction of the same purchase is refused.
-- $1 transaction; $2 player; $3 operator; $4 the event that ends the hold
WITH refused AS (
    INSERT INTO refusals (transaction_id, player_id)
    SELECT DISTINCT named.id, holds.player_id
    FROM holds
    CROSS JOIN LATERAL (
        VALUES (transaction_id), (period_id),
            (CASE WHEN period_id IS NULL AND expires_at IS NULL THEN original_transaction_id END)
    ) AS named (id)
    WHERE transaction_id = $1 AND player_id = $2 AND named.id IS NOT NULL
    ON CONFLICT DO NOTHING
)
INSERT INTO hold_decisions (
    transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator, event_id)
SELECT transaction_id, player_id, bundle_id, product_id, submission_id, reason, 'reject', $3, $4
FROM holds
WHERE transaction_id = $1 AND player_id = $2;
