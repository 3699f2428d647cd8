-- Newest first. $1 a submission, a player, or a transaction that it was granted or that it had held; $2 days back, by the
-- records' day; $3 how many; $4 how many newer ones are left out
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT decided_at, submission_id, player_id, bundle_id, source_topic AS topic, source_partition AS partition,
        source_offset AS "offset", encode(proof, 'hex') AS proof_sha256, granted_transaction_ids,
        event ->> 'type' AS answer, event ->> 'reason' AS reason, event ->> 'detail_code' AS detail_code,
        event ->> 'detail' AS detail, event ->> 'event_id' AS event_id,
        event -> 'transactions' AS transactions, event ->> 'occurred_at' AS occurred_at, story,
        EXISTS (SELECT FROM outbox WHERE outbox.event_id = (told.event ->> 'event_id')::uuid) AS is_pending
    FROM outcomes
    CROSS JOIN LATERAL (SELECT convert_from(answer, 'UTF8')::json AS event) AS told
    WHERE (day >= (now() AT TIME ZONE 'UTC')::date - $2::int4 OR day = '0001-01-01')
        AND (submission_id = $1 OR player_id = $1 OR $1 = ANY (granted_transaction_ids)
            OR submission_key IN (
                SELECT submission_key FROM holds WHERE transaction_id = $1
                UNION ALL
                SELECT submission_key FROM grants WHERE transaction_id = $1)
            OR submission_id IN (SELECT submission_id FROM hold_decisions WHERE transaction_id = $1))
    ORDER BY decided_at DESC, submission_id
    LIMIT $3::int8 OFFSET $4::int8
) AS found;
