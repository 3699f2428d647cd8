-- Sets a later due time for a hold after a try without a verdict.
-- $1 transaction; $2 its lease; $3 player; $4 seconds to wait
UPDATE holds
SET due_at = now() + make_interval(secs => $4), tries = tries + 1, leased_until = NULL, takes = 0,
    is_alone = false, deaths_alone = 0
WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
