-- What Apple was, or is to be, told of deliveries, newest first. $1 a transaction; $2 transactions of others' sections;
-- $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, bundle_id, environment, created_at, result, ended_on, tries, due_at
    FROM finishes
    WHERE transaction_id = $1 OR transaction_id = ANY ($2::text[])
    ORDER BY created_at DESC, transaction_id
    LIMIT $3
) AS found;
