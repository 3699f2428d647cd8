-- Ends a lease, and counts one lease less in takes.
-- $1 transaction; $2 its lease; $3 player
UPDATE holds SET leased_until = NULL, takes = greatest(0, takes - 1), is_alone = false
WHERE transaction_id = $1 AND player_id = $3 AND leased_until = $2;
