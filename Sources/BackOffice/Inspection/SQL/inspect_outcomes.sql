-- Lists the outcomes of the submissions, players, and granted or held transactions in $1, the newest first. After
-- these outcomes come those whose answer contains the id of an order or an event ($5). Their is_named is false. No
-- partition has an index by these ids, so one scan finds both kinds of outcomes.
-- $1 any of these ids; $2 the first day, by the records' day; $3 how many; $4 how many newer outcomes are left out; $5
-- the id in UTF-8, or null
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT decided_at, submission_id, player_id, bundle_id, source_topic AS topic, source_partition AS partition,
        source_offset AS "offset", encode(proof, 'hex') AS proof_sha256, granted_transaction_ids,
        event ->> 'type' AS answer, event ->> 'reason' AS reason, event ->> 'detail_code' AS detail_code,
        event ->> 'detail' AS detail, event ->> 'event_id' AS event_id,
        event -> 'transactions' AS transactions, event ->> 'occurred_at' AS occurred_at, story,
        EXISTS (SELECT FROM outbox WHERE outbox.event_id = (told.event ->> 'event_id')::uuid) AS is_pending, is_named
    FROM outcomes
    CROSS JOIN LATERAL (SELECT convert_from(answer, 'UTF8')::json AS event) AS told
    CROSS JOIN LATERAL (
        SELECT submission_id = ANY ($1::text[]) OR player_id = ANY ($1) OR granted_transaction_ids && $1
            -- PostgreSQL makes each of these arrays once, instead of a look-up for each row.
            OR submission_key = ANY (ARRAY(
                SELECT submission_key FROM holds WHERE transaction_id = ANY ($1)
                UNION ALL
                SELECT submission_key FROM grants WHERE transaction_id = ANY ($1)))
            OR submission_id = ANY (ARRAY(SELECT submission_id FROM hold_decisions WHERE transaction_id = ANY ($1)))
            AS is_named
    ) AS named
    -- The first day is a parameter, so that the planner leaves out earlier days. An expression of the time would be
    -- computed for each row.
    WHERE (day >= $2::date OR day = '0001-01-01')
        AND (is_named
            -- If $1 has a granted transaction or a player with grants, $5 is no order's id, and the sub-query returns
            -- null. IS TRUE turns the null into false, so that PostgreSQL reads an answer as JSON only if the answer's
            -- bytes contain the id.
            OR ((position((
                    SELECT $5::bytea
                    WHERE NOT EXISTS (SELECT FROM grants WHERE transaction_id = ANY ($1))
                        AND NOT EXISTS (SELECT FROM grants WHERE player_id = ANY ($1))) IN answer) > 0) IS TRUE
                AND convert_from($5, 'UTF8') IN (event ->> 'order_id', event ->> 'event_id')))
    ORDER BY is_named DESC, decided_at DESC, submission_id
    LIMIT $3::int8 OFFSET $4::int8
) AS found;
