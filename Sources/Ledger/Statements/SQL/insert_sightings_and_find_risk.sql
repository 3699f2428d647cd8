-- Enters who was seen on which device, and tells what was known before: others on it, the player's purchases of a day, and
-- the Apple accounts that bought for the player.
-- $1 apps; $2 devices, or null; $3 players; $4 days of sighting; $5 beginnings of UTC days of purchase; $6 counted at most;
-- $7 the first day on which a device's players count, for each
WITH sighted AS (
    INSERT INTO device_sightings (bundle_id, device_id, day, player_id)
    SELECT DISTINCT bundle_id, device_id, day, player_id
    FROM unnest($1::text[], $2::text[], $3::text[], $4::date[]) AS seen (bundle_id, device_id, player_id, day)
    WHERE device_id IS NOT NULL
    ORDER BY bundle_id, device_id, day, player_id
    ON CONFLICT DO NOTHING
)
SELECT number, players, granted, accounts
FROM count_grants_of_days($1, $3, array_fill(NULL::text, ARRAY[cardinality($3::text[])]), $5, $6)
LEFT JOIN players_of_devices($1, $2, $7, $6) USING (number)
LEFT JOIN accounts_of_players($1, $3, $6) USING (number);
