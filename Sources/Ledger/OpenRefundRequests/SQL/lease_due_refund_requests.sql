-- Leases due requests, oldest first, with the ledger's facts about their transactions.
-- A request waits for the game server's report. If it has neither a report nor a try, its due time becomes the end of
-- this wait.
-- Leases a request without a player only after Apple's deadline for an answer, to end the request.
-- For EXISTS, the planner might build a hash of the whole table. So each look-up is a subquery with LIMIT 1.
-- $1 how many at most; $2 seconds that a request waits for the game server; $3 seconds before Apple's deadline that are
-- reserved for tries; $4, $5 the shortest and the longest lease, in seconds
WITH due AS (
    SELECT notification_id, due_at AS was_due_at, until,
        tries = 0 AND now() < until AND (
            SELECT true FROM consumption_reports
            WHERE consumption_reports.bundle_id = refund_requests.bundle_id
                AND consumption_reports.transaction_id = refund_requests.transaction_id
            LIMIT 1) IS NULL AS is_early
    FROM refund_requests
    CROSS JOIN LATERAL (
        SELECT least(taken_at + make_interval(secs => $2), answer_by - make_interval(secs => $3)) AS until) AS waiting
    WHERE due_at <= now() AND (player_id IS NOT NULL OR answer_by <= now())
    ORDER BY due_at
    LIMIT $1
    FOR UPDATE OF refund_requests SKIP LOCKED
), leased AS (
    UPDATE refund_requests
    SET due_at = CASE WHEN is_early THEN until
            ELSE now() + make_interval(secs => least($5, $4 * 2 ^ least(takes, 20)) * (1 + random() / 2)) END,
        tries = tries + CASE WHEN is_early THEN 0 ELSE 1 END, takes = takes + CASE WHEN is_early THEN 0 ELSE 1 END
    FROM due
    WHERE refund_requests.notification_id = due.notification_id
    RETURNING refund_requests.*, was_due_at, is_early
)
SELECT notification_id, leased.transaction_id, leased.original_transaction_id, leased.bundle_id, leased.product_id,
    leased.environment, leased.kind, leased.period_id, leased.reason, signed_at, tries, due_at AS lease,
    granted.transaction_id AS granted_transaction_id, granted.is_revoked,
    (SELECT true FROM refunds
    WHERE refunds.transaction_id = leased.transaction_id AND refunds.bundle_id = leased.bundle_id
        AND refunds.environment = leased.environment AND refunds.revoked_at IS NOT NULL
        AND coalesce(refunds.refunded_milli_percent, 100000) >= 100000
    LIMIT 1) IS NOT NULL AS is_refunded,
    coalesce(
        (SELECT true FROM holds WHERE holds.transaction_id = leased.transaction_id LIMIT 1),
        -- The request's period is held under another transaction id.
        (SELECT true FROM claims JOIN holds ON holds.transaction_id = claims.granted_transaction_id
        WHERE claims.original_transaction_id = leased.period_id LIMIT 1),
        (SELECT true FROM refusals WHERE refusals.transaction_id = leased.transaction_id LIMIT 1),
        -- With these two reasons, the purchase is a further seat of a granted period or a copy, and was delivered
        -- through another transaction.
        (SELECT true FROM announced_purchases AS announced
        WHERE announced.transaction_id = leased.transaction_id AND announced.player_id IS NOT NULL
            AND (announced.reason IS NULL OR announced.reason NOT IN ('already_granted', 'owned_by_other_player'))
        LIMIT 1),
        (SELECT true FROM undelivered AS missed
        WHERE missed.transaction_id = leased.transaction_id AND missed.bundle_id = leased.bundle_id
            AND missed.environment = leased.environment
            -- A period counts as delivered if a seat or a copy of it is granted.
            AND (missed.expires_at IS NULL OR (
                SELECT true FROM (
                    SELECT expires_at FROM grants WHERE grants.transaction_id = missed.original_transaction_id
                    UNION ALL
                    SELECT expires_at FROM grants
                    WHERE grants.original_transaction_id = missed.original_transaction_id
                        AND grants.original_transaction_id <> grants.transaction_id
                ) AS period
                WHERE period.expires_at = missed.expires_at
                LIMIT 1) IS NULL)
        LIMIT 1),
        false) AS is_undelivered,
    report.transaction_id IS NOT NULL AS is_reported, report.consumption_milli_percent, report.refund_preference,
    report.is_consented
FROM leased
LEFT JOIN LATERAL (
    -- A partial revocation does not end the request, because the player wants a refund of the rest.
    SELECT transaction_id, revoked_at IS NOT NULL AND coalesce(revoked_units, quantity) >= quantity AS is_revoked
    FROM grants
    WHERE grants.transaction_id = ANY (ARRAY[leased.transaction_id, (
            SELECT granted_transaction_id FROM claims
            WHERE claims.original_transaction_id = leased.original_transaction_id AND leased.period_id IS NULL
                AND leased.kind IS DISTINCT FROM 'auto_renewable_subscription'), (
            SELECT granted_transaction_id FROM claims
            WHERE claims.original_transaction_id = leased.period_id)])
        AND grants.bundle_id = leased.bundle_id AND grants.environment = leased.environment
    ORDER BY grants.transaction_id = leased.transaction_id DESC
    LIMIT 1
) AS granted ON true
LEFT JOIN consumption_reports AS report
    ON report.bundle_id = leased.bundle_id AND report.transaction_id = leased.transaction_id
WHERE NOT is_early
ORDER BY was_due_at, notification_id;
