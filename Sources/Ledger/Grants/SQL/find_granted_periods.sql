-- Finds for each period of a subscription one transaction that grants it and is not wholly revoked. The claims of the
-- originals are locked.
-- If Apple extended a period, the period's grant has the earlier end. So a grant also counts if all of this is true:
-- - the grant began the subscription's present period
-- - that period now ends when the given purchase ends
-- - the given purchase was bought before the earlier end
-- A grant under the continued original also counts if it was bought at the same time as the given purchase.
-- $1 originals; $2 products; $3 when the purchases end; $4 when they were bought; $5 the originals that those of $1
-- continue in the same app and environment, or null; $6 apps; $7 environments
SELECT wanted.original_transaction_id, wanted.product_id, wanted.expires_at, known.transaction_id, known.purchased_at
FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
    AS wanted (original_transaction_id, product_id, expires_at, purchased_at, previous_id, bundle_id, environment)
CROSS JOIN LATERAL (
    SELECT (
        SELECT period_began_at FROM subscriptions
        WHERE original_transaction_id = wanted.original_transaction_id AND expires_at = wanted.expires_at
        LIMIT 1
    ) AS period_began_at
) AS followed
CROSS JOIN LATERAL (
    SELECT transaction_id, purchased_at
    FROM (
        SELECT * FROM grants WHERE transaction_id = wanted.original_transaction_id
        UNION ALL
        SELECT * FROM grants
        WHERE original_transaction_id = wanted.original_transaction_id AND original_transaction_id <> transaction_id
        UNION ALL
        SELECT * FROM grants
        WHERE transaction_id = wanted.previous_id AND purchased_at = wanted.purchased_at
            AND bundle_id = wanted.bundle_id AND environment = wanted.environment
        UNION ALL
        SELECT * FROM grants
        WHERE original_transaction_id = wanted.previous_id AND original_transaction_id <> transaction_id
            AND purchased_at = wanted.purchased_at AND bundle_id = wanted.bundle_id
            AND environment = wanted.environment
    ) AS granted
    WHERE product_id = wanted.product_id
        AND (expires_at = wanted.expires_at
            OR purchased_at = followed.period_began_at
                AND purchased_at < wanted.purchased_at AND wanted.purchased_at < expires_at)
        AND (revoked_at IS NULL OR coalesce(revoked_units, quantity) < quantity)
    LIMIT 1
) AS known;
