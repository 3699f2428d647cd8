-- $1 player; $2 how many
SELECT transaction_id FROM holds WHERE player_id = $1 ORDER BY transaction_id LIMIT $2;
