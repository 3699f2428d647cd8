-- Nothing can be made of them. $1 transactions, sorted; $2 why; $3 the catalog in force
UPDATE holds
SET catalog_version = greatest(catalog_version, $3), released_at = NULL, due_at = NULL, leased_until = NULL, note = $2
WHERE transaction_id = ANY ($1::text[]);
