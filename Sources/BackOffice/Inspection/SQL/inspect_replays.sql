-- Counts a player's submissions of the last 30 days for purchases that another player owns. $1 the player; $2 how many
-- apps
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT bundle_id, sum(submissions) AS in_30_days, max(latest_at) AS latest_at
    FROM replays
    WHERE player_id = $1 AND day > (now() AT TIME ZONE 'UTC')::date - 30
    GROUP BY bundle_id
    ORDER BY max(latest_at) DESC
    LIMIT $2
) AS found;
