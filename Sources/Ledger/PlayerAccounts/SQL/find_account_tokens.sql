-- Finds the facts that receiptd has learnt about account tokens, and the player whom the player-accounts topic names
-- for each token.
-- $1 apps; $2 hashes of tokens; $3 how many senders of each at most; $4 how many accounts of each at most
SELECT wanted.number, known.player_id, known.senders, known.accounts, known.account_players,
    told.player_id AS told_player_id
FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS wanted (bundle_id, token, number)
LEFT JOIN LATERAL (
    SELECT true AS is_known, player_id, ARRAY(
        SELECT sender.player_id
        FROM account_token_senders AS sender
        WHERE sender.bundle_id = wanted.bundle_id AND sender.token = wanted.token
        LIMIT $3) AS senders, ARRAY(
        SELECT account.app_transaction_id
        FROM account_token_accounts AS account
        WHERE account.bundle_id = wanted.bundle_id AND account.token = wanted.token
        ORDER BY account.app_transaction_id
        LIMIT $4) AS accounts, ARRAY(
        SELECT account.player_id
        FROM account_token_accounts AS account
        WHERE account.bundle_id = wanted.bundle_id AND account.token = wanted.token
        ORDER BY account.app_transaction_id
        LIMIT $4) AS account_players
    FROM account_tokens
    WHERE bundle_id = wanted.bundle_id AND token = wanted.token
    -- Keeps the planner from joining the whole table, even if the table was small when the plan was made.
    LIMIT 1
) AS known ON true
LEFT JOIN LATERAL (
    SELECT player_id FROM player_accounts WHERE bundle_id = wanted.bundle_id AND token = wanted.token LIMIT 1
) AS told ON true
WHERE known.is_known OR told.player_id IS NOT NULL;
