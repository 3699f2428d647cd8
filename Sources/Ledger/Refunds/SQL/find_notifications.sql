-- Finds the notifications that are stored already. Versions before 6 stored only notifications of refunds. $1
-- notifications
SELECT notification_id FROM notifications WHERE notification_id = ANY ($1::text[])
UNION
SELECT notification_id FROM refund_notices WHERE notification_id = ANY ($1::text[]);
