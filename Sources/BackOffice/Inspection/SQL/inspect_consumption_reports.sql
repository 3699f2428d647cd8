-- Lists the game's reports of consumption, the newest first.
-- $1 a transaction; $2 transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, bundle_id, consumption_milli_percent, refund_preference, is_consented, told_at
    FROM consumption_reports
    WHERE transaction_id = $1 OR transaction_id = ANY ($2::text[])
    ORDER BY told_at DESC, transaction_id, bundle_id
    LIMIT $3
) AS found;
