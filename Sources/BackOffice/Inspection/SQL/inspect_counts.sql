-- Counts the rows of each kind that is read page by page. A search runs this only if a page may not hold all rows.
-- $1 a player or an original transaction
SELECT (
        SELECT count(*) FROM grants WHERE player_id = $1
    ) + (
        SELECT count(*) FROM grants WHERE original_transaction_id = $1 AND original_transaction_id <> transaction_id
    ) AS grants,
    (SELECT count(*) FROM holds WHERE player_id = $1) AS holds,
    (SELECT count(*) FROM parked WHERE player_id = $1 AND reason <> 'player_share')
        + (SELECT count(*) FROM parked WHERE player_id = $1 AND reason = 'player_share') AS parked,
    (SELECT count(*) FROM subscriptions WHERE player_id = $1) AS subscriptions;
