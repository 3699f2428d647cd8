-- $1 a transaction or a player; $2 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, player_id, refused_at
    FROM (
        SELECT transaction_id, player_id, refused_at FROM refusals WHERE transaction_id = $1
        UNION
        SELECT transaction_id, player_id, refused_at FROM refusals WHERE player_id = $1
    ) AS refused
    -- A refused period has a row beside the row of its transaction.
    WHERE transaction_id NOT LIKE 'period %'
    ORDER BY refused_at DESC
    LIMIT $2
) AS found;
