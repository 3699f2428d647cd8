-- Inserts purchases that their players did not get, sorted by transaction. Leaves out a purchase that is granted, that
-- another player has claimed, or whose token belongs to another player.
-- Replaces another player's row only if its reason leaves open who the buyer is, and the new reason shows that the new
-- player is the buyer.
-- $1–$9 a column each; $10 hashes of tokens, null where the token does not matter
INSERT INTO undelivered AS known (
    transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind, expires_at, reason)
SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind, expires_at, reason
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[],
    $10::bytea[])
    AS missed (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind, expires_at, reason,
        token)
-- For EXISTS, the planner might build a hash of the whole table. So each look-up is a subquery with LIMIT 1.
WHERE (SELECT true FROM grants WHERE grants.transaction_id = missed.transaction_id LIMIT 1) IS NULL
    AND (
        SELECT true FROM claims
        WHERE claims.original_transaction_id = missed.original_transaction_id AND claims.player_id <> missed.player_id
        LIMIT 1
    ) IS NULL
    AND (
        SELECT true FROM player_accounts AS told
        WHERE told.bundle_id = missed.bundle_id AND told.token = missed.token AND told.player_id <> missed.player_id
        LIMIT 1
    ) IS NULL
    AND (
        SELECT true FROM account_tokens AS learnt
        WHERE learnt.bundle_id = missed.bundle_id AND learnt.token = missed.token AND learnt.player_id <> missed.player_id
        LIMIT 1
    ) IS NULL
ON CONFLICT (transaction_id) DO UPDATE
SET player_id = excluded.player_id, reason = excluded.reason, decided_at = now()
WHERE known.reason <> excluded.reason
    AND (known.player_id = excluded.player_id
        OR (known.reason IN ('binding_mismatch', 'sandbox_not_allowed')
            AND excluded.reason NOT IN ('binding_mismatch', 'sandbox_not_allowed')));
