-- Finds the dead letters that an operator put back before. Returns each letter's place in the given list, from 1.
-- $1–$4 a column each
SELECT number
FROM unnest($1::text[], $2::int4[], $3::int8[], $4::bytea[])
    WITH ORDINALITY AS given (source_topic, source_partition, source_offset, content, number)
JOIN redriven_dead_letters USING (source_topic, source_partition, source_offset, content);
