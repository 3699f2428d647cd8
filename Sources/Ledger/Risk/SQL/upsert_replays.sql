-- Counts submissions that replay other players' purchases. Returns the players whose count reaches or passes $6 now.
-- $1 players; $2 apps; $3 days; $4 how many; $5 the latest; all sorted by player, app and day
WITH given AS (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::date[], $4::int4[], $5::timestamptz[])
        WITH ORDINALITY AS given (player_id, bundle_id, day, submissions, latest_at, number)
), noted AS (
    INSERT INTO replays AS known (player_id, bundle_id, day, submissions, latest_at)
    SELECT player_id, bundle_id, day, submissions, latest_at FROM given ORDER BY number
    ON CONFLICT (player_id, bundle_id, day) DO UPDATE
    SET submissions = known.submissions + excluded.submissions, latest_at = greatest(known.latest_at, excluded.latest_at)
    RETURNING player_id, bundle_id, day, submissions
)
SELECT player_id, bundle_id, noted.submissions + earlier.submissions AS submissions
FROM noted
JOIN given USING (player_id, bundle_id, day)
JOIN replays_before($1, $2, $3) AS earlier USING (number)
WHERE noted.submissions + earlier.submissions >= $6
    AND noted.submissions + earlier.submissions - given.submissions < $6;
