-- Lists undelivered purchases, the newest first. Workers report such a purchase to Apple when Apple asks about its
-- refund.
-- $1 a transaction or a player; $2 transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind, expires_at,
        reason, decided_at
    FROM undelivered
    WHERE transaction_id IN (
        SELECT transaction_id FROM undelivered WHERE transaction_id = $1 OR transaction_id = ANY ($2::text[])
        UNION
        SELECT transaction_id FROM undelivered WHERE player_id = $1
    )
    ORDER BY decided_at DESC, transaction_id
    LIMIT $3
) AS found;
