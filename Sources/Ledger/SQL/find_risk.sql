-- Enters who was seen on which device, and tells what was known before: others on it, and the player's purchases of a day.
-- $1 apps; $2 devices, or null; $3 players; $4 days of sighting; $5 beginnings of UTC days of purchase; $6 counted at most;
-- $7 days over which a device's players count
WITH wanted AS (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::date[], $5::timestamptz[])
        WITH ORDINALITY AS wanted (bundle_id, device_id, player_id, seen_on, day, number)
), sighted AS (
    INSERT INTO device_sightings (bundle_id, device_id, day, player_id)
    SELECT DISTINCT bundle_id, device_id, seen_on, player_id
    FROM wanted
    WHERE device_id IS NOT NULL
    ORDER BY bundle_id, device_id, seen_on, player_id
    ON CONFLICT DO NOTHING
)
SELECT number, CASE WHEN device_id IS NOT NULL THEN ARRAY(
        SELECT DISTINCT known.player_id
        FROM device_sightings AS known
        WHERE known.bundle_id = wanted.bundle_id AND known.device_id = wanted.device_id
            AND known.day > wanted.seen_on - $7::int4
        LIMIT $6
    ) END,
    (SELECT count(*) FROM (
        SELECT FROM grants
        WHERE grants.player_id = wanted.player_id AND grants.purchased_at >= wanted.day
            AND grants.purchased_at < wanted.day + interval '24 hours' AND grants.bundle_id = wanted.bundle_id
        LIMIT $6) AS counted)
FROM wanted
ORDER BY number;
