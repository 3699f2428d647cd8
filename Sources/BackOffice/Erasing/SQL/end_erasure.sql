-- Who it was is known no more. $1 pseudonym
UPDATE erasures SET player_id = NULL, done_at = now() WHERE pseudonym = $1;
