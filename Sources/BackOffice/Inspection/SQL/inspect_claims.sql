-- $1 an original transaction; $2 original transactions from other sections
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT original_transaction_id, player_id, bundle_id, granted_transaction_id, claimed_at
    FROM claims
    WHERE original_transaction_id = $1 OR original_transaction_id = ANY ($2::text[])
    ORDER BY original_transaction_id
) AS found;
