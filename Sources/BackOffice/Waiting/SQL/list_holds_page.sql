-- Lists the holds after the hold at $1–$3, the oldest first, for an operator who rejects them.
-- $1 held at, $2 transaction, $3 player; $4 how many; $5–$9 a transaction, an app, a reason, a player, a product, or
-- null; $10 the latest time of a hold, or null
SELECT transaction_id, original_transaction_id, player_id, product_id, reason, waived, released_at IS NOT NULL AS is_released,
    known.submission, submission_key, source_topic, source_partition, source_offset, source_timestamp, traceparent,
    evidence, tries, coalesce(leased_until, 'epoch') AS leased_until, NULL::int8 AS daily_count, false AS is_due, risk,
    source, is_renewal, NULL::timestamptz AS grace_expires_at, false AS is_decided_again, held_at
FROM (
    SELECT *
    FROM holds
    WHERE transaction_id = $5 AND (held_at, transaction_id, player_id) > ($1::timestamptz, $2::text, $3::text)
        AND ($6::text IS NULL OR bundle_id = $6) AND ($7::text IS NULL OR reason = $7)
        AND ($8::text IS NULL OR player_id = $8)
    UNION ALL
    SELECT one.*
    FROM kinds_of_holds($6, $7) AS kind
    CROSS JOIN LATERAL (
        SELECT * FROM holds
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason
            AND (held_at, transaction_id, player_id) > ($1::timestamptz, $2::text, $3::text)
            AND held_at <= coalesce($10::timestamptz, 'infinity')
            AND ($8::text IS NULL OR player_id = $8) AND ($9::text IS NULL OR product_id = $9)
        ORDER BY held_at, transaction_id, player_id
        LIMIT $4
    ) AS one
    WHERE $5::text IS NULL
    ORDER BY held_at, transaction_id, player_id
    LIMIT $4
) AS held
LEFT JOIN LATERAL (
    SELECT submission FROM held_submissions WHERE submission_key = held.submission_key LIMIT 1
) AS known ON true
ORDER BY held_at, transaction_id, player_id;
