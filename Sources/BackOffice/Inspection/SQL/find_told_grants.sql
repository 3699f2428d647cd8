-- Finds grants that Apple or an operator revoked or reinstated recently. Unless a grant is of a consumable, its refund
-- may change the grant of another transaction of the same original.
-- $1 days back; $2 how many of a kind, the newest
WITH changed AS MATERIALIZED (
    SELECT recent.transaction_id, recent.original_transaction_id, granted.revision, granted.kind
    FROM (
        SELECT transaction_id, original_transaction_id
        FROM (
            SELECT transaction_id, original_transaction_id
            FROM refunds
            WHERE noted_at >= now() - make_interval(days => $1)
            ORDER BY noted_at DESC
            LIMIT $2
        ) AS refunded
        UNION ALL
        SELECT transaction_id, NULL
        FROM (SELECT transaction_id, decided_at FROM grant_decisions ORDER BY id DESC LIMIT $2) AS newest
        WHERE decided_at >= now() - make_interval(days => $1)
    ) AS recent
    -- OFFSET 0 keeps the planner from scanning the table, however few rows the table had when the plan was made.
    LEFT JOIN LATERAL (
        SELECT revision, kind FROM grants WHERE grants.transaction_id = recent.transaction_id OFFSET 0
    ) AS granted ON true
)
SELECT transaction_id, revision FROM changed WHERE revision > 1
UNION ALL
SELECT granted.transaction_id, granted.revision
FROM changed
CROSS JOIN LATERAL (
    SELECT granted_transaction_id AS transaction_id
    FROM claims
    WHERE claims.original_transaction_id = changed.original_transaction_id
    OFFSET 0
) AS claimed
CROSS JOIN LATERAL (
    SELECT grants.transaction_id, grants.revision FROM grants WHERE grants.transaction_id = claimed.transaction_id OFFSET 0
) AS granted
WHERE changed.kind IS DISTINCT FROM 'consumable' AND granted.revision > 1;
