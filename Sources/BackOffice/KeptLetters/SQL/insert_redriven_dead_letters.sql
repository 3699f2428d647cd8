-- $1–$4 a column each
INSERT INTO redriven_dead_letters (source_topic, source_partition, source_offset, content)
SELECT * FROM unnest($1::text[], $2::int4[], $3::int8[], $4::bytea[])
ON CONFLICT DO NOTHING;
