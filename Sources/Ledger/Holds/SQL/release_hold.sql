-- As release_holds_page, of one. $1 operator; $2 the transaction
WITH wanted AS (
    SELECT transaction_id FROM holds WHERE transaction_id = $2 AND released_at IS NULL FOR UPDATE
), released AS (
    UPDATE holds
    SET waived = array_append(array_remove(waived, reason), reason), released_at = now(), due_at = now(), tries = 0,
        leased_until = NULL, note = NULL, takes = 0, is_alone = false, deaths_alone = 0
    FROM wanted
    WHERE holds.transaction_id = wanted.transaction_id
    RETURNING holds.*
)
INSERT INTO hold_decisions (
    transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator)
SELECT transaction_id, player_id, bundle_id, product_id, submission_id, reason, 'release', $1
FROM released;
