-- It only waits: a death from now on is not its doing. $1 row; $2 its lease
UPDATE parked SET is_alone = false WHERE id = $1 AND leased_until = $2;
