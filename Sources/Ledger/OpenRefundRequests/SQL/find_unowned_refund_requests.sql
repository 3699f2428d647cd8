-- Those whose transaction was not in the ledger yet, and that are to be looked at again while Apple takes an answer. $1 how many
SELECT notification_id, original_transaction_id, period_id
FROM refund_requests
WHERE player_id IS NULL AND due_at <= now() AND answer_by > now()
ORDER BY due_at
LIMIT $1;
