-- Finds which of these rows exist. $1 rows
SELECT id, (SELECT database_history()) AS history FROM parked WHERE id = ANY ($1::uuid[]);
