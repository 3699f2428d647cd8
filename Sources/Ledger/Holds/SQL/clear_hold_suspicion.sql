-- It only waits: a death from now on is not its doing. $1 transaction; $2 its lease
UPDATE holds SET is_alone = false WHERE transaction_id = $1 AND leased_until = $2;
