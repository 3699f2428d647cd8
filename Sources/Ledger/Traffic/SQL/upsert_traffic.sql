-- Adds a worker's counts since its last report. Workers report just after a minute ends, so the counts belong to the
-- minute that was 30 seconds ago.
-- $1 kinds text[], $2 names text[], $3 counts int8[]
WITH told AS MATERIALIZED (
    SELECT told.kind, told.name, told.count, now() - interval '30 seconds' AS at
    FROM unnest($1::text[], $2::text[], $3::int8[]) AS told (kind, name, count)
), minutes AS (
    INSERT INTO traffic_minutes AS known (began_at, kind, name, count)
    SELECT date_trunc('minute', at, 'UTC'), kind, name, count FROM told ORDER BY kind COLLATE "C", name COLLATE "C"
    ON CONFLICT (began_at, kind, name) DO UPDATE SET count = known.count + excluded.count
)
INSERT INTO traffic_hours AS known (began_at, kind, name, count)
SELECT date_trunc('hour', at, 'UTC'), kind, name, count FROM told ORDER BY kind COLLATE "C", name COLLATE "C"
ON CONFLICT (began_at, kind, name) DO UPDATE SET count = known.count + excluded.count
