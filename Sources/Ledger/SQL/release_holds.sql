-- Marks them for the workers; whoever has one leased finds its lease gone. $1 operator; $2–$4 a transaction, an app, a
-- reason, or null; $5 how many, or null
WITH wanted AS (
    SELECT transaction_id
    FROM holds
    WHERE released_at IS NULL AND ($2::text IS NULL OR transaction_id = $2) AND ($3::text IS NULL OR bundle_id = $3)
        AND ($4::text IS NULL OR reason = $4)
    ORDER BY transaction_id
    LIMIT $5::int8
    FOR UPDATE
), released AS (
    UPDATE holds
    SET waived = array_append(array_remove(waived, reason), reason), released_at = now(), due_at = now(), tries = 0,
        leased_until = NULL, note = NULL
    WHERE transaction_id IN (SELECT transaction_id FROM wanted)
    RETURNING *
)
INSERT INTO hold_decisions (
    transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator)
SELECT transaction_id, player_id, bundle_id, product_id, submission_id, reason, 'release', $1
FROM released;
