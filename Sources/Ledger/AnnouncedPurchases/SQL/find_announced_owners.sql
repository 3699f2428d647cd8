-- Finds the facts that decide who gets each purchase:
-- - whether anything was granted under its original, or under the original of the subscription that it continues
-- - the owner of that continued subscription
-- - the player of its token
-- - the time since which its app grants missed purchases
-- - whether Apple refunded the whole purchase
-- - when Apple reversed a refund, if that was after Apple signed the stored evidence
-- - whether the database may have lost a grant of it
-- $1 transactions; $2 their originals; $3 their apps; $4 their environments; $5 hashes of their tokens, or null
SELECT wanted.number,
    EXISTS (
        SELECT FROM grants
        WHERE transaction_id IN (wanted.original, before.original) AND bundle_id = wanted.bundle_id
            AND environment = wanted.environment
    ) OR EXISTS (
        SELECT FROM grants
        WHERE original_transaction_id IN (wanted.original, before.original)
            AND original_transaction_id <> transaction_id AND bundle_id = wanted.bundle_id
            AND environment = wanted.environment
    ) AS is_let_in,
    (
        SELECT player_id FROM claims
        WHERE original_transaction_id = before.original AND bundle_id = wanted.bundle_id
            AND is_of_app(before.original, wanted.bundle_id, wanted.environment)
            AND NOT EXISTS (SELECT FROM erasures WHERE pseudonym = claims.player_id)
    ) AS previous_owner,
    (SELECT player_id FROM player_accounts WHERE bundle_id = wanted.bundle_id AND token = wanted.token) AS player_id,
    (SELECT since FROM missed_purchase_grants WHERE bundle_id = wanted.bundle_id) AS since,
    EXISTS (
        SELECT FROM refunds
        WHERE transaction_id = wanted.id AND bundle_id = wanted.bundle_id AND environment = wanted.environment
            AND revoked_at IS NOT NULL AND coalesce(refunded_milli_percent, 100000) >= 100000
    ) AS is_refunded,
    (
        SELECT signed_at FROM refunds
        WHERE transaction_id = wanted.id AND bundle_id = wanted.bundle_id AND environment = wanted.environment
            AND revoked_at IS NULL AND signed_at >= before.signed_at
    ) AS reversed_at,
    may_be_lost(before.signed_at) AS is_decided_again
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
    WITH ORDINALITY AS wanted (id, original, bundle_id, environment, token, number)
LEFT JOIN LATERAL (
    SELECT previous_original_transaction_id AS original, signed_at FROM announced_purchases WHERE transaction_id = wanted.id LIMIT 1
) AS before ON true;
