-- Ends a lease, and counts one lease less in takes.
-- $1 original; $2 the lease
UPDATE subscriptions
SET leased_until = NULL, takes = greatest(takes - 1, 0)
WHERE original_transaction_id = $1 AND leased_until = $2;
