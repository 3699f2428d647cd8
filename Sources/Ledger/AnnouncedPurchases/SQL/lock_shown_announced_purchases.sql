-- Locks purchases whose refund another answer of Apple's shows, if they have evidence. A purchase that was taken three
-- times without an end, or killed its workers, stays as it is. The claims of their originals are locked.
-- $1 transactions, sorted
SELECT transaction_id, signed_at, evidence
FROM announced_purchases
WHERE transaction_id = ANY ($1::text[]) AND evidence IS NOT NULL AND takes < 3 AND reason IS DISTINCT FROM 'crashed'
ORDER BY original_transaction_id, transaction_id
FOR UPDATE;
