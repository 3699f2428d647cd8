-- $1 a transaction or a player; $2 how many
SELECT coalesce(json_agg(found), '[]')::text
FROM (
    SELECT transaction_id, player_id, refused_at
    FROM refusals
    WHERE transaction_id = $1 OR player_id = $1
    ORDER BY refused_at DESC
    LIMIT $2
) AS found;
