-- Begins an erasure. An unfinished erasure of the player goes on under its own pseudonym.
-- $1 pseudonym; $2 player; $3 operator
WITH begun AS (
    INSERT INTO erasures (pseudonym, player_id, operator) VALUES ($1, $2, $3)
    ON CONFLICT (player_id) DO NOTHING
    RETURNING pseudonym
)
SELECT pseudonym FROM begun UNION ALL SELECT pseudonym FROM erasures WHERE player_id = $2 LIMIT 1;
