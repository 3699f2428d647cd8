-- Deletes the sightings before a day, in some blocks of the table.
-- $1 the first day to keep; $2 first block, $3 the first block after these, as tuple ids
DELETE FROM device_sightings
WHERE day < $1 AND ctid >= $2::text::tid AND ctid < $3::text::tid;
