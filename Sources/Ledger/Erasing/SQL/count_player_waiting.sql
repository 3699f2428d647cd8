-- What of a player is not decided, or not published; announced is what Apple told of, with the player's id as its token.
-- $1 player
SELECT (SELECT count(*) FROM holds WHERE player_id = $1) AS held,
    (SELECT count(*) FROM parked WHERE player_id = $1 AND reason <> 'player_share')
        + (SELECT count(*) FROM parked WHERE player_id = $1 AND reason = 'player_share') AS parked,
    (
        SELECT count(*)
        FROM announced_purchases
        WHERE token = sha256(convert_to(lower($1), 'UTF8')) AND state IN ('waiting', 'unclaimed', 'ignored')
    ) AS announced,
    (SELECT count(*) FROM outbox WHERE record_key = $1) AS unpublished;
