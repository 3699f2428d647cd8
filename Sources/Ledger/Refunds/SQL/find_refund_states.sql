-- $1 transactions, whose claims are locked
SELECT transaction_id, bundle_id, environment, revoked_at, signed_at, reason, refunded_milli_percent
FROM refunds
WHERE transaction_id = ANY ($1::text[]);
