-- $1 group; $2 topic; $3 partitions, sorted; $4 offsets
INSERT INTO offsets_decided_again AS known (group_id, topic, partition, below_offset)
SELECT $1, $2, partition, below_offset
FROM unnest($3::int4[], $4::int8[]) AS lost (partition, below_offset)
ON CONFLICT (group_id, topic, partition) DO UPDATE
    SET below_offset = greatest(known.below_offset, excluded.below_offset), fell_back_at = excluded.fell_back_at,
        revisions_above = greatest(known.revisions_above, excluded.revisions_above);
