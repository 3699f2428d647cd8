-- Erases a player from the rows that an index finds. The statement file erase_grants.sql handles grants and their
-- claims.
-- $1 player; $2 pseudonym
WITH tokens AS (
    DELETE FROM account_tokens WHERE player_id = $1 RETURNING bundle_id, token
), accounts AS (
    DELETE FROM player_accounts WHERE player_id = $1 RETURNING bundle_id, token
), announced AS (
    SELECT transaction_id FROM announced_purchases WHERE player_id = $1
    UNION
    SELECT told.transaction_id
    FROM (
        SELECT * FROM accounts
        UNION
        -- Leaves out a learnt token that another player has too.
        SELECT *
        FROM tokens AS learnt
        WHERE NOT EXISTS (
                SELECT FROM player_accounts AS told
                WHERE told.bundle_id = learnt.bundle_id AND told.token = learnt.token AND told.player_id <> $1)
            AND NOT EXISTS (
                SELECT FROM account_token_senders AS sent
                WHERE sent.bundle_id = learnt.bundle_id AND sent.token = learnt.token AND sent.player_id <> $1)
    ) AS own
    JOIN announced_purchases AS told ON told.token = own.token AND told.bundle_id = own.bundle_id
    UNION
    -- A player's id may be the token itself.
    SELECT transaction_id FROM announced_purchases WHERE token = sha256(convert_to(lower($1), 'UTF8'))
), passed_on AS (
    -- Another player owns the original of these purchases by now. Workers deliver the purchases to that player.
    SELECT transaction_id
    FROM announced
    JOIN announced_purchases AS told USING (transaction_id)
    JOIN claims USING (original_transaction_id)
    WHERE claims.player_id NOT IN ($1, $2)
), kept AS (
    UPDATE announced_purchases
    SET player_id = CASE WHEN player_id = $1 THEN $2 ELSE player_id END, token = NULL
    WHERE transaction_id = ANY (ARRAY(SELECT transaction_id FROM passed_on))
), unheard AS (
    UPDATE announced_purchases
    SET player_id = CASE WHEN player_id = $1 THEN $2 ELSE player_id END, token = NULL, evidence = NULL, due_at = NULL,
        leased_until = NULL, awaits_submission = false, takes = 0, is_alone = false, deaths_alone = 0,
        state = CASE WHEN state IN ('waiting', 'unclaimed', 'ignored') THEN 'refused' ELSE state END,
        reason = CASE WHEN state IN ('waiting', 'unclaimed', 'ignored') THEN 'player_erased' ELSE reason END
    WHERE transaction_id = ANY (ARRAY(
        SELECT transaction_id FROM announced EXCEPT SELECT transaction_id FROM passed_on))
), senders AS (
    DELETE FROM account_token_senders WHERE player_id = $1
), buyers AS (
    DELETE FROM account_token_accounts WHERE player_id = $1
), followed AS (
    -- receiptd checks these subscriptions with Apple no more.
    UPDATE subscriptions SET player_id = $2, due_at = NULL, leased_until = NULL WHERE player_id = $1
    RETURNING original_transaction_id
), receipts AS (
    DELETE FROM subscription_receipts USING followed
    WHERE subscription_receipts.original_transaction_id = followed.original_transaction_id
), claimed AS (
    UPDATE claims SET player_id = $2 FROM followed
    WHERE claims.original_transaction_id = followed.original_transaction_id AND claims.player_id = $1
), transferred AS (
    UPDATE subscription_transfers
    SET from_player_id = CASE WHEN from_player_id = $1 THEN $2 ELSE from_player_id END,
        to_player_id = CASE WHEN to_player_id = $1 THEN $2 ELSE to_player_id END, note = NULL
    WHERE from_player_id = $1 OR to_player_id = $1
), requested AS (
    -- receiptd reports nothing about the player to Apple any more.
    UPDATE refund_requests
    SET player_id = $2, due_at = NULL, result = coalesce(result, 'erased'), ended_at = coalesce(ended_at, now())
    WHERE player_id = $1
), noted AS (
    UPDATE console_changes
    SET note = NULL,
        subject = CASE
            WHEN subject = $1 OR subject = ANY (ARRAY(SELECT submission_id FROM hold_decisions WHERE player_id = $1))
            THEN $2 ELSE subject END
    WHERE subject = ANY (ARRAY(
        SELECT $1::text
        UNION SELECT submission_id FROM hold_decisions WHERE player_id = $1
        UNION SELECT transaction_id FROM hold_decisions WHERE player_id = $1
        UNION SELECT transaction_id FROM grant_decisions WHERE player_id = $1
        UNION SELECT transaction_id FROM refusals WHERE player_id = $1))
), undelivered_to AS (
    DELETE FROM undelivered WHERE player_id = $1
), locally_refused AS (
    DELETE FROM local_refusals WHERE player_id = $1
), replayed AS (
    DELETE FROM replays WHERE player_id = $1
), refused AS (
    UPDATE refusals SET player_id = $2 WHERE player_id = $1
), held AS (
    UPDATE hold_decisions SET player_id = $2, submission_id = $2 WHERE player_id = $1
)
UPDATE grant_decisions SET player_id = $2, note = NULL WHERE player_id = $1;
