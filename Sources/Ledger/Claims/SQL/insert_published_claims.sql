-- Inserts the claims of published events. An existing claim changes in two cases. If the claim has no owner, the
-- published player becomes the owner. The same happens if both are true: the claim has another owner from before the
-- fall back was noticed, and the published grant is lost. This shows that an operator changed the owner, and that
-- PostgreSQL has lost this change. The player of a refund request never changes. The request has no claim if its player was erased.
-- For EXISTS, the planner might build a hash of the whole table. So the look-up is a subquery with LIMIT 1.
-- $1 original transactions, periods, restored copies and refund requests, sorted, each once; $2 players; $3 bundles;
-- $4 the granted transaction of a period, of a copy or of a transaction that is its own original, otherwise null; $5 the
-- transactions that were published as granted, or whose refund was requested; $6 when the fall back was noticed
WITH lost AS MATERIALIZED (
    SELECT original_transaction_id
    FROM unnest($1::text[], $5::text[]) AS published (original_transaction_id, transaction_id)
    WHERE NOT EXISTS (SELECT FROM grants WHERE grants.transaction_id = published.transaction_id)
)
INSERT INTO claims AS known (original_transaction_id, player_id, bundle_id, granted_transaction_id)
SELECT id, player_id, bundle_id, granted_transaction_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS published (id, player_id, bundle_id, granted_transaction_id, transaction_id)
WHERE id NOT LIKE 'refund request %'
    OR (
        SELECT true FROM refund_requests JOIN erasures ON erasures.pseudonym = refund_requests.player_id
        WHERE refund_requests.transaction_id = published.transaction_id
        LIMIT 1
    ) IS NULL
ON CONFLICT (original_transaction_id) DO UPDATE
SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id, claimed_at = now()
WHERE known.player_id IS NULL
    OR known.player_id <> excluded.player_id AND known.claimed_at < $6::timestamptz
        AND known.original_transaction_id NOT LIKE 'refund request %'
        AND EXISTS (SELECT FROM lost WHERE lost.original_transaction_id = known.original_transaction_id);
