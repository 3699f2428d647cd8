-- Finds the earlier grants of submissions that are rejected as a whole, in purchase order. Apple's answer may no longer
-- list them.
-- $1 players; $2 their submissions
SELECT won.*
FROM unnest($1::text[], $2::uuid[]) AS wanted (player_id, submission_key)
CROSS JOIN LATERAL (
    SELECT submission_key, transaction_id, product_id, event, period_id
    FROM grants
    WHERE player_id = wanted.player_id AND submission_key = wanted.submission_key AND event IS NOT NULL
    ORDER BY purchased_at, transaction_id
    -- Keeps the planner from joining the whole table, even if the table was small when the plan was made.
    OFFSET 0
) AS won;
