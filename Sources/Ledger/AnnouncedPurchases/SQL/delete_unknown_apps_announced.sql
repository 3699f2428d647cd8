-- Deletes unclaimed purchases of apps that the catalog lacks, oldest first. Keeps a purchase that no worker has judged
-- under the newest catalog yet, because this catalog may have its app.
-- $1 how many of the newest to keep; $2 how many to delete at most
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
