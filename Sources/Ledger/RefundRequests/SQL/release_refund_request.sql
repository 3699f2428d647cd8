-- As if it had never been leased. $1 notification; $2 its lease
UPDATE refund_requests SET due_at = now(), tries = greatest(tries - 1, 0) WHERE notification_id = $1 AND due_at = $2;
