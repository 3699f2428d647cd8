-- Periods of subscriptions that are granted, and not taken back: a transaction of each. The claims of their originals are
-- locked. One that Apple extended ends later than its grant says: what began within it and ends as the subscription's period
-- does now is of the same period. $1 originals; $2 products; $3 when they end; $4 when they were bought
SELECT wanted.original_transaction_id, wanted.product_id, wanted.expires_at, known.transaction_id
FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[])
    AS wanted (original_transaction_id, product_id, expires_at, purchased_at)
CROSS JOIN LATERAL (
    SELECT (
        SELECT period_began_at FROM subscriptions
        WHERE original_transaction_id = wanted.original_transaction_id AND expires_at = wanted.expires_at
        LIMIT 1
    ) AS period_began_at
) AS followed
CROSS JOIN LATERAL (
    SELECT transaction_id
    FROM (
        SELECT * FROM grants WHERE transaction_id = wanted.original_transaction_id
        UNION ALL
        SELECT * FROM grants
        WHERE original_transaction_id = wanted.original_transaction_id AND original_transaction_id <> transaction_id
    ) AS granted
    WHERE product_id = wanted.product_id
        AND (expires_at = wanted.expires_at
            OR purchased_at = followed.period_began_at
                AND purchased_at < wanted.purchased_at AND wanted.purchased_at < expires_at)
        AND (revoked_at IS NULL OR coalesce(revoked_units, quantity) < quantity)
    LIMIT 1
) AS known;
