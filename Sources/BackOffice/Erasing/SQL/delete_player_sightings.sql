-- Deletes a player's sightings in some blocks of the table.
-- $1 player; $2 first block, $3 the first block after these, as tuple ids
DELETE FROM device_sightings
WHERE player_id = $1 AND ctid >= $2::text::tid AND ctid < $3::text::tid;
