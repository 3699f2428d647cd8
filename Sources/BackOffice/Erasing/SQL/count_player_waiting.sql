-- What of a player is not decided, or not published; announced is what Apple told of, with a token of the player.
-- $1 player
SELECT (SELECT count(*) FROM holds WHERE player_id = $1) AS held,
    (SELECT count(*) FROM parked WHERE player_id = $1 AND reason <> 'player_share')
        + (SELECT count(*) FROM parked WHERE player_id = $1 AND reason = 'player_share') AS parked,
    (
        SELECT count(*)
        FROM (
            SELECT transaction_id, original_transaction_id
            FROM announced_purchases
            WHERE token = sha256(convert_to(lower($1), 'UTF8')) AND state IN ('waiting', 'unclaimed', 'ignored')
            UNION
            -- Whose the token is by player-accounts.
            SELECT told.transaction_id, told.original_transaction_id
            FROM player_accounts AS own
            JOIN announced_purchases AS told ON told.token = own.token AND told.bundle_id = own.bundle_id
            WHERE own.player_id = $1 AND told.state = 'waiting'
        ) AS waiting
        LEFT JOIN claims USING (original_transaction_id)
        -- What another player owns by now is that one's.
        WHERE claims.player_id IS NULL OR claims.player_id = $1
    ) AS announced,
    (SELECT count(*) FROM outbox WHERE record_key = $1) AS unpublished;
