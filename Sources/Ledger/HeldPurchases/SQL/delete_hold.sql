-- Deletes one player's hold.
-- $1 transaction; $2 player
DELETE FROM holds WHERE transaction_id = $1 AND player_id = $2 RETURNING submission_key;
