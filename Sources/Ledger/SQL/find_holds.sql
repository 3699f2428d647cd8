-- $1 transactions
SELECT known.*
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT transaction_id, player_id, reason, refused_at IS NOT NULL
    FROM holds
    WHERE transaction_id = wanted.id
    LIMIT 1
) AS known;
