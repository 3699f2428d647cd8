-- Lists each app and state among the newest refunds.
-- in: $1 how many int8
SELECT DISTINCT bundle_id, CASE WHEN revoked_at IS NULL THEN 'reversed' ELSE 'refunded' END AS reason
FROM (SELECT bundle_id, revoked_at FROM refunds ORDER BY noted_at DESC LIMIT $1::int8) AS newest
