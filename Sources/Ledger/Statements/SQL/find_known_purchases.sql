-- $1 numbers of queries, $2 transactions of each, $3 the only player who counts, or null: the queries whose transactions are
-- all granted, or held and not refused.
-- LIMIT and no EXISTS: of that the planner makes a hash of the whole table, small as it was when the plan was made.
SELECT wanted.number
FROM unnest($1::int4[], $2::text[], $3::text[]) AS wanted (number, id, claimant)
GROUP BY wanted.number
HAVING bool_and(coalesce(
    (SELECT wanted.claimant IS NULL OR grants.player_id = wanted.claimant
    FROM grants WHERE grants.transaction_id = wanted.id LIMIT 1),
    (SELECT wanted.claimant IS NULL OR holds.player_id = wanted.claimant
    FROM holds WHERE holds.transaction_id = wanted.id AND holds.refused_at IS NULL LIMIT 1),
    false));
