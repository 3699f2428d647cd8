-- Begins an erasure, or continues an unfinished erasure of the player. Returns its pseudonym. A second statement at the
-- same time waits for the first one's row, and returns that row's pseudonym.
-- $1 pseudonym; $2 player; $3 operator
INSERT INTO erasures (pseudonym, player_id, operator) VALUES ($1, $2, $3)
ON CONFLICT (player_id) DO UPDATE SET player_id = excluded.player_id
RETURNING pseudonym;
