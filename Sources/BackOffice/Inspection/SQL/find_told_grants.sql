-- Grants that Apple or an operator took back, or gave again, of late: also one that is granted under another transaction of the
-- refund's original, as no consumable is. $1 days back; $2 how many of a kind, the newest
WITH refunded AS MATERIALIZED (
    SELECT transaction_id, original_transaction_id
    FROM refunds
    WHERE noted_at >= now() - make_interval(days => $1)
    ORDER BY noted_at DESC
    LIMIT $2
), named AS MATERIALIZED (
    SELECT transaction_id, revision, kind
    FROM grants
    WHERE transaction_id = ANY (ARRAY(
        SELECT transaction_id FROM refunded
        UNION
        SELECT transaction_id
        FROM (SELECT transaction_id, decided_at FROM grant_decisions ORDER BY id DESC LIMIT $2) AS newest
        WHERE decided_at >= now() - make_interval(days => $1)))
)
SELECT transaction_id, revision FROM named WHERE revision > 1
UNION
SELECT transaction_id, revision
FROM grants
WHERE revision > 1 AND transaction_id = ANY (ARRAY(
    SELECT (
        SELECT granted_transaction_id FROM claims
        WHERE claims.original_transaction_id = refunded.original_transaction_id)
    FROM refunded
    WHERE transaction_id NOT IN (SELECT transaction_id FROM named WHERE kind = 'consumable')));
