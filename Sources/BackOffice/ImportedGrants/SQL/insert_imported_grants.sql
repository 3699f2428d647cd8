-- Enters what is new, taken back by as much as Apple said before, unless the file says that it was. Returns how many were
-- entered. Holds that it may end are made due: a worker finds the grant. What pays for a period that another transaction is
-- granted for, or another line of the file, is granted already.
WITH entered AS (
    INSERT INTO grants (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        expires_at, revoked_at, revoked_units, apple_revoked_at, apple_revocation_reason, apple_revoked_milli_percent,
        granted_at, submission_id, period_id)
    SELECT DISTINCT ON (transaction_id) transaction_id, original_transaction_id, player_id, bundle_id, product_id,
        quantity, environment, purchased_at, expires_at, coalesce(revoked_at, refund.at),
        -- To the nearest, and at least 1.
        CASE WHEN refund.at IS NOT NULL
            THEN greatest(1, (quantity::int8 * refund.milli_percent + 50000) / 100000)::int4 END,
        refund.at, refund.reason,
        refund.milli_percent, granted_at, submission_id, period_id
    FROM imported
    LEFT JOIN LATERAL (
        SELECT refunds.revoked_at AS at, refunds.reason,
            CASE WHEN refunds.refunded_milli_percent BETWEEN 1 AND 99999 THEN refunds.refunded_milli_percent
                ELSE 100000 END AS milli_percent
        FROM refunds
        WHERE (refunds.transaction_id = imported.transaction_id OR refunds.period_id = imported.period_id)
            AND refunds.bundle_id = imported.bundle_id
            AND refunds.environment = imported.environment AND refunds.revoked_at IS NOT NULL
            AND imported.revoked_at IS NULL
        LIMIT 1
    ) AS refund ON true
    WHERE NOT EXISTS (
        SELECT FROM claims
        WHERE claims.original_transaction_id = imported.period_id
            AND claims.granted_transaction_id <> imported.transaction_id
            AND (
                EXISTS (SELECT FROM grants WHERE grants.transaction_id = claims.granted_transaction_id)
                OR EXISTS (
                    SELECT FROM imported AS first
                    WHERE first.transaction_id = claims.granted_transaction_id AND first.period_id = imported.period_id))
    )
    ORDER BY transaction_id, line
    ON CONFLICT DO NOTHING
    RETURNING original_transaction_id, period_id
), freed AS (
    UPDATE holds
    SET due_at = now(), leased_until = NULL, is_alone = false
    FROM (
        SELECT transaction_id, player_id
        FROM holds
        WHERE due_at IS NULL AND deaths_alone < 3 AND (
            original_transaction_id IN (SELECT original_transaction_id FROM entered)
            OR period_id IN (SELECT period_id FROM entered))
        ORDER BY transaction_id, player_id
        FOR UPDATE
    ) AS open
    WHERE holds.transaction_id = open.transaction_id AND holds.player_id = open.player_id
)
SELECT count(*) AS entered FROM entered;
