-- Locks the announced purchases of tokens. Waits for a worker that is marking such a purchase as unclaimed.
-- $1 apps, $2 hashes of tokens
SELECT transaction_id
FROM announced_purchases
WHERE (bundle_id, token) IN (SELECT * FROM unnest($1::text[], $2::bytea[]))
    AND token = ANY ($2::bytea[]) AND bundle_id = ANY ($1::text[])
    AND state IN ('waiting', 'unclaimed', 'ignored') AND evidence IS NOT NULL
ORDER BY original_transaction_id, transaction_id
FOR UPDATE;
