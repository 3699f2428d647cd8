-- Locks announced purchases whose evidence may hold a token of the player, and whose original another player owns by
-- now. Workers deliver the purchases to that player. Also locks the renewals of a subscription that was transferred
-- from the player, even if their token is not stored any more.
-- $1 player; $2 pseudonym
WITH own AS (
    -- The same tokens as in erase_player_rows.sql.
    SELECT bundle_id, token
    FROM account_tokens AS learnt
    WHERE player_id = $1
        AND NOT EXISTS (
            SELECT FROM player_accounts AS told
            WHERE told.bundle_id = learnt.bundle_id AND told.token = learnt.token AND told.player_id <> $1)
        AND NOT EXISTS (
            SELECT FROM account_token_senders AS sent
            WHERE sent.bundle_id = learnt.bundle_id AND sent.token = learnt.token AND sent.player_id <> $1)
    UNION
    SELECT bundle_id, token FROM player_accounts WHERE player_id = $1
), announced AS (
    SELECT transaction_id FROM announced_purchases WHERE player_id = $1
    UNION
    SELECT told.transaction_id
    FROM own
    JOIN announced_purchases AS told ON told.token = own.token AND told.bundle_id = own.bundle_id
    UNION
    -- A player's id may be the token itself.
    SELECT transaction_id FROM announced_purchases WHERE token = sha256(convert_to(lower($1), 'UTF8'))
    UNION
    SELECT told.transaction_id
    FROM subscription_transfers
    JOIN announced_purchases AS told USING (original_transaction_id)
    WHERE from_player_id = $1 AND told.original_transaction_id <> told.transaction_id
)
SELECT told.transaction_id, told.evidence
FROM announced_purchases AS told
JOIN claims USING (original_transaction_id)
WHERE told.transaction_id = ANY (ARRAY(SELECT transaction_id FROM announced)) AND told.evidence IS NOT NULL
    AND claims.player_id NOT IN ($1, $2)
ORDER BY told.original_transaction_id, told.transaction_id
FOR UPDATE OF told;
