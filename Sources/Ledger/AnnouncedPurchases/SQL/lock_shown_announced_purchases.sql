-- Locks announced purchases that still have evidence. Apple's answer for another proof shows their refunds. Leaves out
-- a purchase with three leases without a result, and a purchase that killed its workers. The caller has locked the
-- claims of their originals.
-- $1 transactions, sorted
SELECT transaction_id, signed_at, evidence
FROM announced_purchases
WHERE transaction_id = ANY ($1::text[]) AND evidence IS NOT NULL AND takes < 3 AND reason IS DISTINCT FROM 'crashed'
ORDER BY original_transaction_id, transaction_id
FOR UPDATE;
