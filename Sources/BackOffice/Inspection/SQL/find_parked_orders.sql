-- Lists the parked submissions of an order. $1 the order's id; $2 how many
SELECT submission_id AS name FROM parked WHERE order_id = $1 LIMIT $2;
