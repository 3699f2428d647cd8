-- Counts one lease less for each purchase: its delivery failed, but its worker lives. The leases continue.
-- $1 transactions, sorted; $2 their leases
UPDATE announced_purchases AS told
SET takes = greatest(0, takes - 1), is_alone = false
FROM unnest($1::text[], $2::timestamptz[]) AS forgiven (transaction_id, lease)
WHERE told.transaction_id = forgiven.transaction_id AND told.leased_until = forgiven.lease
    AND told.transaction_id = ANY ($1::text[]);
