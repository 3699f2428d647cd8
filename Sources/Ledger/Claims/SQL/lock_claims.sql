-- Locks the existing claims in the order of $1.
-- $1 original transactions and periods, sorted
SELECT claim.*
FROM (SELECT unnest($1::text[]) AS id) AS wanted
CROSS JOIN LATERAL (
    SELECT original_transaction_id, player_id, granted_transaction_id
    FROM claims
    WHERE original_transaction_id = wanted.id
    FOR UPDATE
) AS claim;
