-- $1 transactions; $2 players in hand: only their refusals are read, whose rows have no reason.
SELECT known.*
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    (SELECT transaction_id, player_id, reason FROM holds WHERE transaction_id = wanted.id LIMIT 1)
    UNION ALL
    (SELECT transaction_id, player_id, NULL FROM refusals
    WHERE transaction_id = wanted.id AND player_id = ANY ($2::text[]))
) AS known;
