-- What stands as taken back. $1 transactions
SELECT transaction_id, bundle_id, environment, revoked_at
FROM refunds
WHERE transaction_id = ANY ($1::text[]) AND revoked_at IS NOT NULL;
