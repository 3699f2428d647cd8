-- What is taken back and not reinstated. $1 transactions
SELECT transaction_id, bundle_id, environment, revoked_at, reason, refunded_milli_percent
FROM refunds
WHERE transaction_id = ANY ($1::text[]) AND revoked_at IS NOT NULL;
