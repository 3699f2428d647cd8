-- Stores that the hold only waits, so that the worker's death does not count against it.
-- $1 transaction; $2 its lease; $3 player
UPDATE holds SET is_alone = false WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
