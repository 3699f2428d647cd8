-- Enters new grants and returns their number. If Apple refunded a purchase and the line has no revocation, the grant
-- gets Apple's revocation, with Apple's share. Leaves out a line if another transaction, or an earlier line of the
-- batch, is granted for its period. Makes due each hold that a new grant may end: a worker then finds the grant and
-- ends the hold.
WITH entered AS (
    INSERT INTO grants (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        expires_at, revoked_at, revoked_units, apple_revoked_at, apple_revocation_reason, apple_revoked_milli_percent,
        granted_at, submission_id, period_id)
    SELECT DISTINCT ON (transaction_id) transaction_id, original_transaction_id, player_id, bundle_id, product_id,
        quantity, environment, purchased_at, expires_at, coalesce(revoked_at, refund.at),
        -- The refunded units are rounded to the nearest whole unit, and are at least 1.
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
        WHERE (refunds.transaction_id = imported.transaction_id OR refunds.period_id = imported.period_id
                -- A refund of the original covers the restored copies that were made before it.
                OR refunds.transaction_id = imported.original_transaction_id AND imported.period_id IS NULL
                    AND imported.expires_at IS NULL AND imported.purchased_at <= refunds.revoked_at)
            AND refunds.bundle_id = imported.bundle_id
            AND refunds.environment = imported.environment AND refunds.revoked_at IS NOT NULL
            AND imported.revoked_at IS NULL
        ORDER BY refunds.transaction_id <> imported.transaction_id
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
