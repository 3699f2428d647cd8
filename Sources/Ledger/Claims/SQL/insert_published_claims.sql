-- Inserts the claims of published events. An existing claim changes in two cases. If the claim has no owner, the
-- published player becomes the owner. The same happens if the claim has another owner from before the fall back was
-- noticed and the published grant is lost, because an operator then had changed the owner in the lost state.
-- $1 original transactions, periods and restored copies, sorted, each once; $2 players; $3 bundles; $4 the granted
-- transaction of a period, of a copy or of a transaction that is its own original, otherwise null; $5 the published
-- grants; $6 when the fall back was noticed
WITH lost AS MATERIALIZED (
    SELECT original_transaction_id
    FROM unnest($1::text[], $5::text[]) AS published (original_transaction_id, transaction_id)
    WHERE NOT EXISTS (SELECT FROM grants WHERE grants.transaction_id = published.transaction_id)
)
INSERT INTO claims AS known (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[])
ON CONFLICT (original_transaction_id) DO UPDATE
SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id, claimed_at = now()
WHERE known.player_id IS NULL
    OR known.player_id <> excluded.player_id AND known.claimed_at < $6::timestamptz
        AND EXISTS (SELECT FROM lost WHERE lost.original_transaction_id = known.original_transaction_id);
