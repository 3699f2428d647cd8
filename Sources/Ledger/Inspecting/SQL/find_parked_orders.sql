-- Parked submissions of an order. Each has its receipt with it: only the newest are looked at. $1 the order's id; $2 how many
SELECT submission_id AS name
FROM (SELECT id, submission_id FROM parked ORDER BY parked_at DESC LIMIT 10000) AS newest
JOIN parked_submissions USING (id)
CROSS JOIN LATERAL (SELECT convert_from(submission, 'UTF8')::json AS told) AS read
WHERE position(convert_to($1, 'UTF8') IN submission) > 0 AND told ->> 'order_id' = $1
LIMIT $2;
