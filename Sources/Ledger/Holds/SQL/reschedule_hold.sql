-- No verdict yet. $1 transaction; $2 its lease; $3 seconds to wait
UPDATE holds
SET due_at = now() + make_interval(secs => $3), tries = tries + 1, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = $1 AND leased_until = $2;
