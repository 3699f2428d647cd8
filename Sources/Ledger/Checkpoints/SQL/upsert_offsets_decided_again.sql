-- Stores offsets below which a fall back of the database may have lost decisions.
-- Before a worker noticed the fall back, it may have refused announced purchases that Apple refunded. The refusals of
-- the last ten minutes become due again. That is enough, because a running worker notices a fall back within seconds.
-- If $5 is null, the time of the partitions' last checkpoint takes its place. If there is no checkpoint, 1970 takes its
-- place, because every published event may be lost.
-- $1 group; $2 topic; $3 partitions, sorted; $4 offsets; $5 a time of the state that the database fell back to, or null
WITH refused AS (
    SELECT transaction_id
    FROM announced_purchases
    WHERE state = 'refused' AND reason IN ('cancelled', 'upgraded') AND decided_at > now() - interval '10 minutes'
    ORDER BY transaction_id
    FOR UPDATE
), reopened AS (
    UPDATE announced_purchases
    SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
        is_alone = false, deaths_alone = 0
    WHERE transaction_id = ANY (ARRAY(SELECT transaction_id FROM refused))
)
INSERT INTO offsets_decided_again AS known (group_id, topic, partition, below_offset, claims_from)
SELECT $1, $2, partition, below_offset, coalesce($5::timestamptz, (
        SELECT max(written_at) FROM offset_checkpoints
        WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[])), 'epoch')
FROM unnest($3::int4[], $4::int8[]) AS lost (partition, below_offset)
ON CONFLICT (group_id, topic, partition) DO UPDATE
    SET below_offset = greatest(known.below_offset, excluded.below_offset), fell_back_at = excluded.fell_back_at,
        claims_from = least(known.claims_from, excluded.claims_from),
        revisions_above = greatest(known.revisions_above, excluded.revisions_above);
