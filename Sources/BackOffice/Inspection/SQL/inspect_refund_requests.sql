-- Lists refunds that players asked Apple for, the newest first.
-- $1 a transaction, a player or a notification; $2 transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, player_id, bundle_id, product_id, environment, reason, signed_at, answer_by, taken_at,
        result, ended_at, delivery_status, consumption_milli_percent, refund_preference, tries, due_at,
        notification_id
    FROM refund_requests
    WHERE notification_id IN (
        SELECT notification_id FROM refund_requests WHERE transaction_id = $1 OR transaction_id = ANY ($2::text[])
        UNION
        SELECT notification_id FROM refund_requests WHERE notification_id = $1
        UNION
        (SELECT notification_id FROM refund_requests WHERE player_id = $1 ORDER BY taken_at DESC LIMIT $3)
    )
    ORDER BY taken_at DESC, notification_id
    LIMIT $3
) AS found;
