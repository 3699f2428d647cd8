-- Deletes the rows of parked submissions in the SQL transaction that decides the submissions. $1 rows, sorted
DELETE FROM parked WHERE id = ANY ($1::uuid[]);
