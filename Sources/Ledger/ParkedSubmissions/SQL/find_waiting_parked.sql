-- Which of $1 wait.
SELECT id, (SELECT database_history()) AS history FROM parked WHERE id = ANY ($1::uuid[]);
