-- $1 apps; $2 hashes of tokens, locked; $3 the Apple accounts that bought with them; $4 the players whose those are from now on
INSERT INTO account_token_accounts (bundle_id, token, app_transaction_id, player_id)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[])
ON CONFLICT DO NOTHING;
