-- Deletes a leased row whose outcome is durable. $1 row; $2 its lease
DELETE FROM parked WHERE id = $1 AND leased_until = $2;
