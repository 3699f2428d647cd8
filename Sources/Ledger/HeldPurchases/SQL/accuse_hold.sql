-- Stores that a worker has resumed work on the hold after a wait, so that the worker's death counts against the hold.
-- $1 transaction; $2 its lease; $3 player
UPDATE holds SET is_alone = true WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
