-- Notes that a worker works on the hold again: a death counts against it from now on.
-- $1 transaction; $2 its lease; $3 player
UPDATE holds SET is_alone = true WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
