-- Stores the players who own tokens from now on. $1 apps; $2 hashes of locked tokens; $3 players
UPDATE account_tokens
SET player_id = learnt.player_id, learnt_at = now()
FROM unnest($1::text[], $2::bytea[], $3::text[]) AS learnt (bundle_id, token, player_id)
WHERE account_tokens.bundle_id = learnt.bundle_id AND account_tokens.token = learnt.token
    AND account_tokens.player_id IS NULL;
