-- Stores that the row only waits, so that the worker's death does not count against it. $1 row; $2 its lease
UPDATE parked SET is_alone = false WHERE id = $1 AND leased_until = $2;
