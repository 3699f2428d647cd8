-- Stores that a worker works on the hold again, so that a death counts against the hold.
-- $1 transaction; $2 its lease; $3 player
UPDATE holds SET is_alone = true WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
