-- Lists Apple's refunds and reversals, the newest notice first, one row for each transaction.
-- $1 a transaction or an original transaction; $2 transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, original_transaction_id, bundle_id, environment, product_id, reason, revoked_at,
        refunded_milli_percent, signed_at, noted_at
    FROM refunds
    WHERE transaction_id = $1 OR original_transaction_id = $1 OR transaction_id = ANY ($2::text[])
    ORDER BY signed_at DESC, transaction_id
    LIMIT $3
) AS found;
