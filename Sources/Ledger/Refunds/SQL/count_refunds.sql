-- Up to a limit, so that a page does not wait for a count of all.
-- in: $1 limit int8, $2 an app or null, $3 'refunded', 'reversed' or null
SELECT count(*) AS count
FROM (
    SELECT FROM refunds
    WHERE ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR (revoked_at IS NULL) = ($3 = 'reversed'))
    LIMIT $1::int8
) AS found
