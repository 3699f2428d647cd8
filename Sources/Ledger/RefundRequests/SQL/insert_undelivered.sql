-- Purchases that their players did not get, sorted by transaction; another player's row stays. What is granted needs none, and
-- what another player owns is not theirs. $1–$9 a column each
INSERT INTO undelivered AS known (
    transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind, expires_at, reason)
SELECT *
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::text[])
    AS missed (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, environment, kind, expires_at, reason)
-- A subquery with LIMIT 1 where EXISTS might become a hash of the whole table.
WHERE (SELECT true FROM grants WHERE grants.transaction_id = missed.transaction_id LIMIT 1) IS NULL
    AND (
        SELECT true FROM claims
        WHERE claims.original_transaction_id = missed.original_transaction_id AND claims.player_id <> missed.player_id
        LIMIT 1
    ) IS NULL
ON CONFLICT (transaction_id) DO UPDATE
SET reason = excluded.reason, decided_at = now()
WHERE known.player_id = excluded.player_id AND known.reason <> excluded.reason;
