-- Finds another transaction whose grant gives the same non-consumable and is in force. $1 transaction, whose claim is
-- locked
SELECT other.transaction_id
FROM grants AS mine
JOIN grants AS other
    ON other.transaction_id = mine.original_transaction_id
        OR other.original_transaction_id = mine.original_transaction_id
            AND other.original_transaction_id <> other.transaction_id
WHERE mine.transaction_id = $1 AND other.transaction_id <> $1 AND 'non_consumable' IN (mine.kind, other.kind)
    AND (other.revoked_at IS NULL OR coalesce(other.revoked_units, other.quantity) < other.quantity)
ORDER BY other.transaction_id
LIMIT 1;
