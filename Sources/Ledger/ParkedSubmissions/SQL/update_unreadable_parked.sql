-- Leaves rows to an operator, because Swift cannot read their submissions. $1 rows
UPDATE parked SET due_at = NULL, leased_until = NULL WHERE id = ANY ($1::uuid[]);
