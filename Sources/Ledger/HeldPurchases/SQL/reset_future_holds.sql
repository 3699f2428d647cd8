-- What is due later than anything can be was put there while the clock was ahead: it is due now. $1 seconds; $2 how many
WITH ahead AS (
    SELECT transaction_id, player_id FROM holds WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE holds SET due_at = now()
FROM ahead
WHERE holds.transaction_id = ANY (ARRAY(SELECT transaction_id FROM ahead))
    AND holds.transaction_id = ahead.transaction_id AND holds.player_id = ahead.player_id;
