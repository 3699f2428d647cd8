-- Stores which player was seen on which device. Returns the facts as they were before: other players of the device, the
-- player's purchases of a day, and the Apple accounts that bought for the player.
-- Inserts a sighting if the query for the device does not find it. Two concurrent batches may both insert the sighting,
-- and neither batch waits.
-- $1 apps; $2 devices, or null; $3 players; $4 days of sighting; $5 beginnings of UTC days of purchase; $6 the highest
-- count; $7 the first days on which a device's players count; $8 the number of days on which they count
WITH seen AS MATERIALIZED (
    SELECT wanted.number, wanted.bundle_id, wanted.device_id, wanted.player_id, wanted.seen_on, wanted.day,
        -- If the table already has this sighting, the array has null in place of the player. So no further sighting is
        -- inserted.
        CASE WHEN wanted.device_id IS NOT NULL THEN ARRAY(
            SELECT DISTINCT latest.player
            FROM (
                SELECT CASE WHEN known.day <> wanted.seen_on OR known.player_id <> wanted.player_id THEN known.player_id
                    END AS player
                FROM device_sightings AS known
                WHERE known.device_id = wanted.device_id AND known.day >= wanted.since AND known.bundle_id = wanted.bundle_id
                ORDER BY known.day DESC
                LIMIT $6::bigint * $8::bigint
            ) AS latest
            LIMIT $6::bigint + 1)
        END AS players
    FROM (
        SELECT unnest($1::text[]) AS bundle_id, unnest($2::text[]) AS device_id, unnest($3::text[]) AS player_id,
            unnest($4::date[]) AS seen_on, unnest($5::timestamptz[]) AS day, unnest($7::date[]) AS since,
            generate_subscripts($1::text[], 1) AS number
    ) AS wanted
), sighted AS (
    INSERT INTO device_sightings (bundle_id, device_id, day, player_id)
    SELECT DISTINCT bundle_id, device_id, seen_on, player_id
    FROM seen
    WHERE array_position(players, NULL) IS NULL AND device_id IS NOT NULL
)
SELECT wanted.number, array_replace(wanted.players, NULL, wanted.player_id) AS players,
    (
        SELECT count(*)
        FROM (
            SELECT
            FROM grants
            WHERE grants.player_id = wanted.player_id AND grants.purchased_at >= wanted.day
                AND grants.purchased_at < wanted.day + interval '24 hours' AND grants.bundle_id = wanted.bundle_id
                AND (grants.revoked_at IS NULL OR coalesce(grants.revoked_units, grants.quantity) < grants.quantity)
            LIMIT $6::bigint
        ) AS one
    ) AS granted,
    -- The query searches the index once for each account, instead of reading all of a player's purchases. Null if there
    -- is no account, as for most players.
    CASE WHEN first.account IS NOT NULL THEN ARRAY(
        WITH RECURSIVE known AS (
            SELECT first.account
            UNION ALL
            SELECT (
                SELECT app_transaction_id
                FROM grants
                WHERE player_id = wanted.player_id AND bundle_id = wanted.bundle_id
                    AND app_transaction_id > known.account
                ORDER BY app_transaction_id
                LIMIT 1)
            FROM known
            WHERE known.account IS NOT NULL
        )
        SELECT account FROM known WHERE account IS NOT NULL LIMIT $6::bigint)
    END AS accounts
FROM seen AS wanted
LEFT JOIN LATERAL (
    SELECT app_transaction_id AS account
    FROM grants
    WHERE player_id = wanted.player_id AND bundle_id = wanted.bundle_id AND app_transaction_id IS NOT NULL
    ORDER BY app_transaction_id
    LIMIT 1
) AS first ON true;
