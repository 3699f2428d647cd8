-- Finds Apple's recent questions about a refund, the newest first. $1 days back; $2 how many
SELECT notification_id, transaction_id
FROM refund_requests
WHERE taken_at >= now() - make_interval(days => $1)
ORDER BY taken_at DESC
LIMIT $2;
