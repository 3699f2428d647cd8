-- It is at work again: a death from now on is its doing. $1 row; $2 its lease
UPDATE parked SET is_alone = true WHERE id = $1 AND leased_until = $2;
