-- Counts holds, and the released holds among them. The digest is a sum of hashes. It changes if other holds match, or
-- if a hold has another reason, even if the count stays.
-- $1–$5 a transaction, an app, a reason, a player, a product, or null; $6 the latest time of a hold, or null
SELECT coalesce(sum(held), 0)::int8 AS waiting, coalesce(sum(released), 0)::int8 AS part,
    coalesce(sum(digests), 0)::text AS digests
FROM (
    SELECT count(*) AS held, count(released_at) AS released,
        sum(hashtextextended(transaction_id || ' ' || player_id || ' ' || reason, 0)) AS digests
    FROM holds
    WHERE transaction_id = $1 AND ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR reason = $3)
        AND ($4::text IS NULL OR player_id = $4)
    UNION ALL
    SELECT counted.*
    FROM kinds_of_holds($2, $3) AS kind
    CROSS JOIN LATERAL (
        SELECT count(*), count(released_at), sum(hashtextextended(transaction_id || ' ' || player_id || ' ' || reason, 0))
        FROM holds
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND held_at <= coalesce($6::timestamptz, 'infinity')
            AND ($4::text IS NULL OR player_id = $4) AND ($5::text IS NULL OR product_id = $5)
    ) AS counted
    WHERE $1::text IS NULL AND ($2::text IS NOT NULL OR $3::text IS NOT NULL)
    UNION ALL
    -- One pass counts all kinds: a pass for each kind would read nearly every page of the table again.
    SELECT count(*), count(released_at), sum(hashtextextended(transaction_id || ' ' || player_id || ' ' || reason, 0))
    FROM holds
    WHERE $1::text IS NULL AND $2::text IS NULL AND $3::text IS NULL AND held_at <= coalesce($6::timestamptz, 'infinity')
        AND ($4::text IS NULL OR player_id = $4) AND ($5::text IS NULL OR product_id = $5)
) AS part;
