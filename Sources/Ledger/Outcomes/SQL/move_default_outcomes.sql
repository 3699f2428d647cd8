-- Moves rows to outcomes_apart. Every look-up sees a row in the one place or in the other. $1 places; another row may be there by now
WITH moved AS (
    DELETE FROM outcomes_default
    WHERE ctid = ANY ($1::text[]::tid[]) AND decided_at < now() - interval '10 minutes'
    RETURNING *
), entered AS (
    INSERT INTO outcomes (
        day, source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
        bundle_id, proof, granted_transaction_ids, answer, decided_at, story)
    SELECT '0001-01-01', source_topic, source_partition, source_offset, content, submission_key, submission_id, player_id,
        bundle_id, proof, granted_transaction_ids, answer, decided_at, story
    FROM moved
    ON CONFLICT DO NOTHING
)
SELECT count(*) AS moved FROM moved;
