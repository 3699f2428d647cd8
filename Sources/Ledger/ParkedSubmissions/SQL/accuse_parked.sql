-- Stores that a worker has resumed work on the row after a wait, so that the worker's death counts against the row. $1
-- row; $2 its lease
UPDATE parked SET is_alone = true WHERE id = $1 AND leased_until = $2;
