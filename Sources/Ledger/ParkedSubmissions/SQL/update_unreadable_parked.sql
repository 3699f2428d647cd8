-- Leaves rows whose submission Swift cannot read to an operator. $1 rows
UPDATE parked SET due_at = NULL, leased_until = NULL WHERE id = ANY ($1::uuid[]);
