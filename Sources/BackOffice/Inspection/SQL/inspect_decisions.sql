-- Lists operators' decisions about holds. $1 a transaction, a player or a submission; $2 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT decided_at, operator, decision, reason, transaction_id, player_id, product_id, submission_id
    FROM hold_decisions
    WHERE id IN (
        SELECT id FROM hold_decisions WHERE transaction_id = $1
        UNION
        SELECT id FROM hold_decisions WHERE player_id = $1
        UNION
        SELECT id FROM hold_decisions WHERE submission_id = $1
    )
    ORDER BY decided_at DESC
    LIMIT $2
) AS found;
