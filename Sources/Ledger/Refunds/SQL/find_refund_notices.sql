-- Which were taken before. $1 notifications
SELECT notification_id FROM refund_notices WHERE notification_id = ANY ($1::text[]);
