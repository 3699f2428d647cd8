-- Inserts requests, sorted by notification. The claims of their originals are locked. If the transaction is not in the
-- ledger, the request has no player, and a worker looks for its player later. If the request's event was published
-- before the database fell back, the event's player counts, whoever has the transaction now.
-- $1–$10 a column each; $11 seconds until the next try; $12 periods; $13 the claims of the requests' events
INSERT INTO refund_requests (
    notification_id, transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind,
    reason, signed_at, answer_by, period_id, due_at)
SELECT asked.notification_id, asked.transaction_id, asked.original_transaction_id,
    coalesce(published.player_id, owner.player_id), asked.bundle_id, asked.product_id, asked.environment,
    coalesce(asked.kind, owner.kind), asked.reason, asked.signed_at, asked.answer_by, asked.period_id,
    now()
        + CASE
            WHEN coalesce(published.player_id, owner.player_id) IS NULL THEN make_interval(secs => $11)
            ELSE '0 s'
        END
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::timestamptz[], $10::timestamptz[], $12::text[], $13::text[])
    AS asked (
        notification_id, transaction_id, original_transaction_id, bundle_id, product_id, environment, kind, reason,
        signed_at, answer_by, period_id, claim_id)
LEFT JOIN claims AS published ON published.original_transaction_id = asked.claim_id
LEFT JOIN LATERAL refund_owner(
    asked.transaction_id, asked.original_transaction_id, asked.bundle_id, asked.environment,
    asked.period_id) AS owner ON true
ON CONFLICT DO NOTHING
RETURNING notification_id, player_id;
