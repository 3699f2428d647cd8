-- Which of $1 wait.
SELECT id FROM parked WHERE id = ANY ($1::uuid[]);
