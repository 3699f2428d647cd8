-- Nothing can be made of what they hold: an operator ends the wait. $1 rows
UPDATE parked SET due_at = NULL, leased_until = NULL WHERE id = ANY ($1::uuid[]);
