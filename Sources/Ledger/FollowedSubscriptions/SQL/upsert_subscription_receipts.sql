-- Stores the newest receipts. The subscriptions themselves must be written before.
-- $1 originals, sorted; $2 their newest receipts
INSERT INTO subscription_receipts AS known (original_transaction_id, receipt, over_on)
SELECT told.original_transaction_id, told.receipt,
    CASE WHEN subscriptions.state IN ('expired', 'revoked') THEN current_date END
FROM unnest($1::text[], $2::bytea[]) AS told (original_transaction_id, receipt)
JOIN subscriptions ON subscriptions.original_transaction_id = told.original_transaction_id
ORDER BY told.original_transaction_id
ON CONFLICT (original_transaction_id) DO UPDATE SET receipt = excluded.receipt, over_on = excluded.over_on
WHERE known.receipt <> excluded.receipt OR known.over_on IS DISTINCT FROM excluded.over_on;
