-- Ends an erasure and forgets the player's id, so that nothing leads from the pseudonym to the player. $1 pseudonym
UPDATE erasures SET player_id = NULL, done_at = now() WHERE pseudonym = $1;
