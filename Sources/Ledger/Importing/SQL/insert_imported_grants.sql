-- Enters what is new, revoked where Apple said so before. How many were entered, and the lines whose transaction another player has. Holds that it may end are
-- made due: a worker finds the grant.
WITH entered AS (
    INSERT INTO grants (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        expires_at, revoked_at, granted_at, submission_id)
    SELECT DISTINCT ON (transaction_id) transaction_id, original_transaction_id, player_id, bundle_id, product_id,
        quantity, environment, purchased_at, expires_at,
        coalesce(revoked_at, (
            SELECT refunds.revoked_at FROM refunds
            WHERE refunds.transaction_id = imported.transaction_id AND refunds.bundle_id = imported.bundle_id
                AND refunds.environment = imported.environment
        )), granted_at, submission_id
    FROM imported
    ORDER BY transaction_id, line
    ON CONFLICT DO NOTHING
    RETURNING original_transaction_id
), freed AS (
    UPDATE holds
    SET due_at = now(), leased_until = NULL
    WHERE transaction_id IN (
        SELECT transaction_id
        FROM holds
        WHERE due_at IS NULL AND original_transaction_id IN (SELECT original_transaction_id FROM entered)
        ORDER BY transaction_id
        FOR UPDATE
    )
)
SELECT count(*) AS entered FROM entered;
