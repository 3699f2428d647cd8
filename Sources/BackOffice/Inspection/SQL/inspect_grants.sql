-- Lists grants, the newest first.
-- $1 a transaction, an original transaction or a player; $2 how many; $3 further transactions; $4 how many newer grants
-- are left out
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, kind, quantity, environment,
        purchased_at, expires_at, submission_id, granted_at, revoked_at, revoked_units, revision, catalog_version,
        app_transaction_id, operator_revoked_at, price_milliunits, currency, event IS NULL AS imported
    FROM grants
    WHERE transaction_id IN (
        SELECT transaction_id FROM grants WHERE transaction_id = $1 OR transaction_id = ANY ($3::text[])
        UNION
        SELECT transaction_id FROM grants
        WHERE original_transaction_id = $1 AND original_transaction_id <> transaction_id
        UNION
        (
            SELECT transaction_id FROM grants WHERE player_id = $1
            ORDER BY purchased_at DESC, granted_at DESC, transaction_id LIMIT $2::int8 + $4::int8
        )
    )
    -- The inner query has the same order, so that each row is on only one page.
    ORDER BY purchased_at DESC, granted_at DESC, transaction_id
    LIMIT $2::int8 OFFSET $4::int8
) AS found;
