-- Lists announced purchases, the newest first. A purchase time that cannot be read is stored as 1970 and returned as
-- null.
-- $1 a transaction, an original transaction, a player or a submission; $2 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, original_transaction_id, bundle_id, product_id, environment, source, submission_id,
        is_renewal, state, reason, player_id, nullif(purchased_at, 'epoch') AS purchased_at, expires_at, signed_at, stored_at, due_at,
        awaits_submission, times_held, decided_at, catalog_version
    FROM announced_purchases
    WHERE transaction_id IN (
        SELECT transaction_id FROM announced_purchases WHERE transaction_id = $1
        UNION
        SELECT transaction_id FROM announced_purchases
        WHERE original_transaction_id = $1 AND original_transaction_id <> transaction_id
        UNION
        SELECT transaction_id FROM announced_purchases WHERE player_id = $1
        UNION
        SELECT transaction_id FROM announced_purchases WHERE submission_id = $1
    )
    ORDER BY stored_at DESC, transaction_id
    LIMIT $2
) AS found;
