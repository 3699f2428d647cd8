-- $1 apps; $2 hashes of tokens, locked; $3 players who sent them
INSERT INTO account_token_senders (bundle_id, token, player_id)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[])
ON CONFLICT DO NOTHING;
