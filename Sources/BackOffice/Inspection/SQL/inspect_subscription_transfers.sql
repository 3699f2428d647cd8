-- $1 an original transaction; $2 original transactions from other sections; $3 how many
SELECT coalesce(json_agg(found), '[]')::text AS rows
FROM (
    SELECT original_transaction_id, bundle_id, from_player_id, to_player_id, operator, note, transferred_at
    FROM subscription_transfers
    WHERE original_transaction_id = $1 OR original_transaction_id = ANY ($2::text[])
    ORDER BY transferred_at DESC, id DESC
    LIMIT $3
) AS found;
