-- Stores an operator's decision.
-- $1 transaction, whose grant is locked; $2 revoke or reinstate; $3 operator; $4 a note, or null
INSERT INTO grant_decisions (transaction_id, player_id, bundle_id, product_id, decision, operator, note)
SELECT transaction_id, player_id, bundle_id, product_id, $2, $3, $4
FROM grants
WHERE transaction_id = $1;
