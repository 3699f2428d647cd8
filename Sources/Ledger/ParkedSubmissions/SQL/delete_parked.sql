-- Deletes rows in the SQL transaction that decides them. $1 rows, sorted
DELETE FROM parked WHERE id = ANY ($1::uuid[]);
