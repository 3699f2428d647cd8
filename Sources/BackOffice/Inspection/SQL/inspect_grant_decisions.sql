-- Lists operators' decisions about grants. $1 a transaction or a player; $2 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT decided_at, operator, decision, note, transaction_id, player_id, bundle_id, product_id
    FROM grant_decisions
    WHERE id IN (
        SELECT id FROM grant_decisions WHERE transaction_id = $1
        UNION
        SELECT id FROM grant_decisions WHERE player_id = $1
    )
    ORDER BY decided_at DESC
    LIMIT $2
) AS found;
