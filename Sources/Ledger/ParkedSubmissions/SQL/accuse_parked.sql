-- Notes that the row's try goes on: a death of the worker counts against the row again. $1 row; $2 its lease
UPDATE parked SET is_alone = true WHERE id = $1 AND leased_until = $2;
