-- Locks the purchases that are still leased and unsettled. The caller has locked the claims of their originals.
-- $1 transactions; $2 their leases
SELECT told.transaction_id
FROM announced_purchases AS told
JOIN unnest($1::text[], $2::timestamptz[]) AS wanted (transaction_id, lease)
    ON told.transaction_id = wanted.transaction_id AND told.leased_until = wanted.lease
WHERE told.transaction_id = ANY ($1::text[]) AND told.state IN ('waiting', 'unclaimed', 'ignored')
ORDER BY told.original_transaction_id, told.transaction_id
FOR UPDATE OF told;
