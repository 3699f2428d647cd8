-- Notes that the hold only waits: a death counts nothing against it from now on.
-- $1 transaction; $2 its lease; $3 player
UPDATE holds SET is_alone = false WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
