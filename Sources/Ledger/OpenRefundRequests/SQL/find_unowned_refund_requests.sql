-- Finds due requests whose transaction was not in the ledger, and whose deadline at Apple has not passed. $1 how many
-- at most
SELECT notification_id, original_transaction_id, period_id
FROM refund_requests
WHERE player_id IS NULL AND due_at <= now() AND answer_by > now()
ORDER BY due_at
LIMIT $1;
