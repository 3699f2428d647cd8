-- Notes that the row only waits: a death of the worker does not count against the row. $1 row; $2 its lease
UPDATE parked SET is_alone = false WHERE id = $1 AND leased_until = $2;
