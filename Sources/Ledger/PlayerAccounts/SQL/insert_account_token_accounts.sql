-- Inserts the Apple accounts that bought with tokens, and the players who own these accounts' purchases from now on.
-- $1 apps; $2 hashes of locked tokens; $3 accounts; $4 players
INSERT INTO account_token_accounts (bundle_id, token, app_transaction_id, player_id)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[])
ON CONFLICT DO NOTHING;
