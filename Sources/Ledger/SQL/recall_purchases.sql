-- $1 numbers of queries, $2 transactions of each: the queries whose transactions are all granted, or held and not refused.
SELECT wanted.number
FROM unnest($1::int4[], $2::text[]) AS wanted (number, id)
GROUP BY wanted.number
HAVING bool_and(
    EXISTS (SELECT FROM grants WHERE grants.transaction_id = wanted.id)
    OR EXISTS (SELECT FROM holds WHERE holds.transaction_id = wanted.id AND holds.refused_at IS NULL));
