-- Counts parked submissions, and the leased rows among them. The digest is a sum of hashes. It changes if other rows
-- match, even if the count stays.
-- $1–$4 a submission, an app, a reason, a player, or null; $5 the latest time of parking, or null
SELECT coalesce(sum(parked), 0)::int8 AS waiting, coalesce(sum(leased), 0)::int8 AS part,
    coalesce(sum(digests), 0)::text AS digests
FROM (
    SELECT count(*) AS parked, count(*) FILTER (WHERE leased_until > now()) AS leased,
        sum(uuid_hash_extended(id, 0)) AS digests
    FROM parked
    WHERE submission_id = $1 AND ($2::text IS NULL OR bundle_id = $2) AND ($3::text IS NULL OR reason = $3)
        AND ($4::text IS NULL OR player_id = $4)
    UNION ALL
    SELECT counted.*
    FROM kinds_of_parked($2, $3) AS kind
    CROSS JOIN LATERAL (
        SELECT count(*), count(*) FILTER (WHERE leased_until > now()), sum(uuid_hash_extended(id, 0))
        FROM parked
        WHERE bundle_id = kind.bundle_id AND reason = kind.reason AND parked_at <= coalesce($5::timestamptz, 'infinity')
            AND ($4::text IS NULL OR player_id = $4)
    ) AS counted
    WHERE $1::text IS NULL AND ($2::text IS NOT NULL OR $3::text IS NOT NULL)
    UNION ALL
    -- One pass counts all kinds: a pass for each kind would read nearly every page of the table again.
    SELECT count(*), count(*) FILTER (WHERE leased_until > now()), sum(uuid_hash_extended(id, 0))
    FROM parked
    WHERE $1::text IS NULL AND $2::text IS NULL AND $3::text IS NULL
        AND parked_at <= coalesce($5::timestamptz, 'infinity') AND ($4::text IS NULL OR player_id = $4)
) AS part;
