-- Unclaimed purchases of apps that the catalog does not have, beyond the newest $1: the oldest go, $2 of them at most. What
-- a newer catalog has not looked at yet stays: its app may be there now
DELETE FROM announced_purchases
WHERE state = 'unclaimed' AND reason = 'unknown_app' AND transaction_id = ANY (ARRAY(
    SELECT transaction_id
    FROM announced_purchases
    WHERE state = 'unclaimed' AND reason = 'unknown_app' AND leased_until IS NULL
        AND (evidence IS NULL OR catalog_version >= (SELECT coalesce(max(version), 0) FROM catalogs))
        AND stored_at <= (
            SELECT stored_at
            FROM announced_purchases
            WHERE state = 'unclaimed' AND reason = 'unknown_app'
            ORDER BY stored_at DESC
            OFFSET $1
            LIMIT 1)
    ORDER BY stored_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED));
