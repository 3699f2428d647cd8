-- Oldest first, with the player that the token was learnt of, unless so many sent it ($7) that it is a constant of the
-- client's. $1 how many; $2–$5 a transaction, an app, a reason, a product, $6 the latest time at which Apple told of it, or null
SELECT told.transaction_id, told.original_transaction_id, told.bundle_id, told.product_id, told.environment,
    told.source, told.submission_id, told.is_renewal, told.purchased_at, told.expires_at, told.stored_at, told.reason,
    told.token IS NOT NULL AS has_token, told.evidence IS NOT NULL AS is_retriable, known.player_id
FROM (
    SELECT *
    FROM announced_purchases
    WHERE state = 'unclaimed' AND ($2::text IS NULL OR transaction_id = $2) AND ($3::text IS NULL OR bundle_id = $3)
        AND ($4::text IS NULL OR reason = $4) AND ($5::text IS NULL OR product_id = $5)
        AND stored_at <= coalesce($6::timestamptz, 'infinity')
    ORDER BY stored_at, transaction_id
    LIMIT $1
) AS told
LEFT JOIN LATERAL (
    SELECT player_id
    FROM account_tokens
    WHERE bundle_id = told.bundle_id AND token = told.token
        AND (
            SELECT count(*)
            FROM (
                SELECT FROM account_token_senders
                WHERE account_token_senders.bundle_id = told.bundle_id AND account_token_senders.token = told.token
                LIMIT $7 + 1
            ) AS sender
        ) <= $7
    LIMIT 1
) AS known ON true
ORDER BY told.stored_at, told.transaction_id;
