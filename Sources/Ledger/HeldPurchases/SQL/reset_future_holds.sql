-- Makes holds due now whose due time is later than any writer sets: a clock that was ahead must have written it.
-- $1 seconds ahead; $2 how many at most
WITH ahead AS (
    SELECT transaction_id, player_id FROM holds WHERE due_at > now() + make_interval(secs => $1)
    ORDER BY due_at DESC LIMIT $2 FOR UPDATE SKIP LOCKED
)
UPDATE holds SET due_at = now()
FROM ahead
WHERE holds.transaction_id = ANY (ARRAY(SELECT transaction_id FROM ahead))
    AND holds.transaction_id = ahead.transaction_id AND holds.player_id = ahead.player_id;
