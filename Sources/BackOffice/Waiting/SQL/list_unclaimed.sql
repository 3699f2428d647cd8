-- Lists unclaimed purchases, the oldest first, with the player whom the game last named for the token. A token that
-- more than $8 players sent is a constant of the client, and gets no player.
-- $1 how many; $2 how many older rows are left out; $3–$6 a transaction, an app, a reason, a product, $7 the latest
-- time at which Apple announced the purchase, or null; $8 the most senders of a token
SELECT told.transaction_id, told.original_transaction_id, told.bundle_id, told.product_id, told.environment,
    told.source, told.submission_id, told.is_renewal, told.purchased_at, told.expires_at, told.stored_at, told.reason,
    told.token IS NOT NULL AS has_token, told.evidence IS NOT NULL AS is_retriable, known.player_id
FROM (
    SELECT *
    FROM announced_purchases
    WHERE state = 'unclaimed' AND ($3::text IS NULL OR transaction_id = $3) AND ($4::text IS NULL OR bundle_id = $4)
        AND ($5::text IS NULL OR reason = $5) AND ($6::text IS NULL OR product_id = $6)
        AND stored_at <= coalesce($7::timestamptz, 'infinity')
    ORDER BY stored_at, transaction_id
    LIMIT $1::int8 OFFSET $2::int8
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
                LIMIT $8 + 1
            ) AS sender
        ) <= $8
    LIMIT 1
) AS known ON true
ORDER BY told.stored_at, told.transaction_id;
