-- Ends a finish. $1 transaction; $2 its lease; $3 the result
UPDATE finishes
SET due_at = NULL, result = $3, ended_on = (now() AT TIME ZONE 'UTC')::date
WHERE transaction_id = $1 AND due_at = $2;
