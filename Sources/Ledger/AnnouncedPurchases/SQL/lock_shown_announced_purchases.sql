-- Purchases whose refund another answer of Apple's shows, unless nothing can come of them. What may kill its workers stays
-- as it is, with its count. $1 transactions, sorted; the claims of their originals are locked
SELECT transaction_id, signed_at, evidence
FROM announced_purchases
WHERE transaction_id = ANY ($1::text[]) AND evidence IS NOT NULL AND takes < 3 AND reason IS DISTINCT FROM 'crashed'
ORDER BY original_transaction_id, transaction_id
FOR UPDATE;
