-- Finds the events of records that were decided before. Returns a row for each granted event in order, or one row with
-- only the answer. The key has the day, so PostgreSQL searches only the day's partition, and then outcomes_apart.
-- Reads the history once, and only if there is a row. $1–$5 the keys, a column each
SELECT wanted.number, outcome.answer, known.event, known.period_id, (SELECT database_history()) AS history
FROM unnest($1::date[], $2::int4[], $3::int8[], $4::text[], $5::bytea[])
    WITH ORDINALITY AS wanted (day, partition, position, topic, content, number)
CROSS JOIN LATERAL (
    SELECT granted_transaction_ids, answer
    FROM outcomes
    WHERE day = wanted.day AND source_partition = wanted.partition AND source_offset = wanted.position
        AND source_topic = wanted.topic AND content = wanted.content
    UNION ALL
    SELECT granted_transaction_ids, answer
    FROM outcomes
    WHERE day = '0001-01-01' AND source_partition = wanted.partition AND source_offset = wanted.position
        AND source_topic = wanted.topic AND content = wanted.content
    LIMIT 1
) AS outcome
LEFT JOIN LATERAL unnest(outcome.granted_transaction_ids) WITH ORDINALITY AS granted (id, place) ON true
LEFT JOIN LATERAL (SELECT event, period_id FROM grants WHERE transaction_id = granted.id LIMIT 1) AS known ON true
ORDER BY wanted.number, granted.place;
