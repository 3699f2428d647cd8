-- Moves rows to outcomes_apart. Every query sees a row in exactly one of the two tables. Since the search, another row
-- may have taken a place (ctid), so the statement checks the age again. $1 places
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
