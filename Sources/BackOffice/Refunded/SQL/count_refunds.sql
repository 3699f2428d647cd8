-- Counts refunds up to a limit, so that a page does not wait for a count of all.
-- in: $1 limit int8, $2 an app or null, $3 'refunded', 'reversed' or null, $4 a player or null, $5 a product or null,
-- $6 the earliest time of the notice or null
SELECT count(*) AS count
FROM (
    SELECT FROM refunds
    WHERE ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR (revoked_at IS NULL) = ($3 = 'reversed'))
        AND ($4::text IS NULL OR transaction_id IN (SELECT transaction_id FROM grants WHERE player_id = $4))
        AND ($5::text IS NULL OR product_id = $5) AND noted_at >= coalesce($6::timestamptz, '-infinity')
    LIMIT $1::int8
) AS found
