-- in: $1 id int8, $2 result text
UPDATE console_changes SET ended_at = now(), result = $2::text WHERE id = $1::int8 AND ended_at IS NULL
