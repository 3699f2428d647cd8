-- Stores that a worker works on the row again, so that a death counts against the row. $1 row; $2 its lease
UPDATE parked SET is_alone = true WHERE id = $1 AND leased_until = $2;
