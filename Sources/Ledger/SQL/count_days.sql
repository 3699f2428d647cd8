-- Granted and not revoked. $1 apps; $2 players; $3 products; $4 the beginnings of UTC days of purchase
SELECT wanted.number, counted.count
FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
    WITH ORDINALITY AS wanted (bundle_id, player_id, product_id, day, number)
CROSS JOIN LATERAL (
    SELECT count(*)
    FROM grants
    WHERE player_id = wanted.player_id AND purchased_at >= wanted.day
        AND purchased_at < wanted.day + interval '24 hours' AND product_id = wanted.product_id
        AND bundle_id = wanted.bundle_id AND revoked_at IS NULL
) AS counted;
