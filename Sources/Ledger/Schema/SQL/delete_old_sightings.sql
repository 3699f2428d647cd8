-- Sightings of days that no longer count, in some blocks of the table. $1 the first day that counts; $2 first block, $3 the
-- first behind them, as tuple ids
DELETE FROM device_sightings
WHERE day < $1 AND ctid >= $2::text::tid AND ctid < $3::text::tid;
