-- Ends a lease, and counts one lease less in takes. $1 row; $2 its lease
UPDATE parked SET leased_until = NULL, takes = greatest(0, takes - 1), is_alone = false
WHERE id = $1 AND leased_until = $2;
