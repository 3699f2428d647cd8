-- Counts a player's rows that must end before an erasure: holds, parked submissions, announced purchases with the
-- player's token, and unpublished events.
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
            -- The topic player-accounts says that the token is the player's.
            SELECT told.transaction_id, told.original_transaction_id
            FROM player_accounts AS own
            JOIN announced_purchases AS told ON told.token = own.token AND told.bundle_id = own.bundle_id
            WHERE own.player_id = $1 AND told.state = 'waiting'
        ) AS waiting
        LEFT JOIN claims USING (original_transaction_id)
        -- A purchase does not count if another player already owns its original.
        WHERE claims.player_id IS NULL OR claims.player_id = $1
    ) AS announced,
    (SELECT count(*) FROM outbox WHERE record_key = $1) AS unpublished;
