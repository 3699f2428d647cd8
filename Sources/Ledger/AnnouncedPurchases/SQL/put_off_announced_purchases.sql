-- Sets a later due time for the purchases that are still leased and unsettled.
-- $1 transactions, sorted; $2 their leases; $3 seconds
UPDATE announced_purchases AS told
SET state = 'waiting', due_at = now() + make_interval(secs => $3), awaits_submission = false, leased_until = NULL,
    takes = 0, is_alone = false, deaths_alone = 0
FROM unnest($1::text[], $2::timestamptz[]) AS wanted (transaction_id, lease)
WHERE told.transaction_id = wanted.transaction_id AND told.leased_until = wanted.lease
    AND told.transaction_id = ANY ($1::text[]) AND told.state IN ('waiting', 'unclaimed', 'ignored');
