-- Lists holds, the newest first. A purchase time that cannot be read is stored as 1970 and returned as null.
-- $1 a transaction, an original transaction, a player or a submission; $2 how many; $3 how many newer holds are left
-- out
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, reason,
        waived, submission_id, nullif(purchased_at, 'epoch') AS purchased_at, held_at, released_at, due_at, tries, note, catalog_version
    FROM holds
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM holds WHERE transaction_id = $1
        UNION
        SELECT ctid FROM holds WHERE original_transaction_id = $1
        UNION
        SELECT ctid FROM holds WHERE player_id = $1
        UNION
        SELECT ctid FROM holds WHERE submission_id = $1
    ))
    ORDER BY held_at DESC, transaction_id, player_id
    LIMIT $2::int8 OFFSET $3::int8
) AS found;
