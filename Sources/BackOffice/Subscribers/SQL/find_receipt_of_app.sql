-- Finds the stored receipt of an app's subscription that is not over, for a request to Apple.
-- $1 the app
SELECT receipts.receipt
FROM subscriptions
JOIN subscription_receipts AS receipts USING (original_transaction_id)
WHERE subscriptions.bundle_id = $1 AND receipts.over_on IS NULL
LIMIT 1;
