-- Inserts the players who sent tokens. $1 apps; $2 hashes of locked tokens; $3 players
INSERT INTO account_token_senders (bundle_id, token, player_id)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[])
ON CONFLICT DO NOTHING;
