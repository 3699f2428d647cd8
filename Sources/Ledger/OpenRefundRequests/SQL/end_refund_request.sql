-- Ends a request. $1 notification; $2 its lease; $3 the result; $4–$6 the answer that was sent to Apple, null if none
-- was
UPDATE refund_requests
SET due_at = NULL, result = $3, delivery_status = $4, consumption_milli_percent = $5, refund_preference = $6,
    ended_at = now()
WHERE notification_id = $1 AND due_at = $2;
