-- Releases the holds of one transaction, as the statement file release_holds_page.sql does. $1 operator; $2 the
-- transaction; $3 a player, or null
WITH wanted AS (
    SELECT transaction_id, player_id
    FROM holds
    WHERE transaction_id = $2 AND ($3::text IS NULL OR player_id = $3) AND released_at IS NULL
    ORDER BY player_id
    FOR UPDATE
), released AS (
    UPDATE holds
    SET waived = array_append(array_remove(waived, reason), reason), released_at = now(), due_at = now(), tries = 0,
        leased_until = NULL, note = NULL, takes = 0, is_alone = false, deaths_alone = 0
    FROM wanted
    WHERE holds.transaction_id = wanted.transaction_id AND holds.transaction_id = $2 AND holds.player_id = wanted.player_id
    RETURNING holds.*
)
INSERT INTO hold_decisions (
    transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator)
SELECT transaction_id, player_id, bundle_id, product_id, submission_id, reason, 'release', $1
FROM released;
