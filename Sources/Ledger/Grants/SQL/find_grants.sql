-- Finds grants. Returns the event of a grant only if one of the submissions in hand won that grant.
-- $1 transactions; $2 submissions in hand
SELECT known.*
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT transaction_id, player_id, submission_key,
        revoked_at IS NOT NULL AND coalesce(revoked_units, quantity) >= quantity AS is_revoked,
        CASE WHEN coalesce(apple_revoked_milli_percent, 0) < 100000 THEN operator_revoked_at END AS operator_revoked_at,
        CASE WHEN submission_key = ANY ($2::uuid[]) THEN event END AS event, is_bound
    FROM grants
    WHERE transaction_id = wanted.id
    -- Keeps the planner from joining the whole table, even if the table was small when the plan was made.
    LIMIT 1
) AS known;
