-- Finds holds, refusals and refunds.
-- A row with a player and a reason is a hold. For each transaction, the result has the hold that claims it, all holds
-- of the players in $2, and perhaps further holds: at most two more than there are such players.
-- A row with a player and no reason is a refusal of a transaction or a period to a player in $2.
-- A row without a player is a refund, found by its transaction or by its period's claim. Its revoked_at is null if
-- Apple reversed the refund.
-- $1 transactions; $2 players of the batch; $3 transactions whose refunds are wanted; $4 claims of periods whose
-- refunds and refusals are wanted
SELECT known.*
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    (SELECT transaction_id, player_id, reason, NULL::text AS bundle_id, NULL::text AS environment,
        NULL::timestamptz AS revoked_at, NULL::int4 AS refunded_milli_percent, NULL::timestamptz AS signed_at,
        NULL::text AS earlier_parts, NULL::text AS period_id, is_bound
    FROM holds
    WHERE transaction_id = wanted.id
    ORDER BY reason = 'ownership_disputed', player_id <> ALL ($2::text[])
    LIMIT cardinality($2::text[]) + 2)
    UNION ALL
    (SELECT transaction_id, player_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM refusals
    WHERE transaction_id = wanted.id AND player_id = ANY ($2::text[]))
) AS known
UNION ALL
SELECT refused.*
FROM unnest($4::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT transaction_id, player_id, NULL, NULL, NULL, NULL::timestamptz, NULL::int4, NULL::timestamptz, NULL,
        NULL, NULL::boolean
    FROM refusals
    WHERE transaction_id = wanted.id AND player_id = ANY ($2::text[])
) AS refused
UNION ALL
SELECT refund.*
FROM unnest($3::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT transaction_id, NULL, reason, bundle_id, environment, revoked_at, refunded_milli_percent, signed_at,
        earlier_parts, period_id, NULL::boolean
    FROM refunds
    WHERE transaction_id = wanted.id
    -- Keeps the planner from joining the whole table, even if the table was small when the plan was made.
    OFFSET 0
) AS refund
UNION ALL
SELECT refund.*
FROM unnest($4::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT period_id, NULL, reason, bundle_id, environment, revoked_at, refunded_milli_percent, signed_at,
        earlier_parts, period_id, NULL::boolean
    FROM refunds
    WHERE period_id = wanted.id
    ORDER BY revoked_at IS NULL
    LIMIT 1
) AS refund;
