-- Lists Apple's notifications of refunds, the newest first.
-- $1 a transaction or a notification; $2 transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT signed_at, taken_at, type, effect, transaction_id, bundle_id, environment, notification_id
    FROM refund_notices
    WHERE transaction_id = $1 OR notification_id = $1 OR transaction_id = ANY ($2::text[])
    ORDER BY signed_at DESC, notification_id
    LIMIT $3
) AS found;
