-- Lists the deliveries that receiptd reports to Apple, or has reported, the newest first.
-- $1 a transaction; $2 transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, bundle_id, environment, created_at, result, ended_on, tries, due_at
    FROM finishes
    WHERE transaction_id = $1 OR transaction_id = ANY ($2::text[])
    ORDER BY created_at DESC, transaction_id
    LIMIT $3
) AS found;
