-- $1 transactions; $2 revisions
SELECT count(*) AS lacking
FROM unnest($1::text[], $2::int4[]) AS published (transaction_id, revision)
WHERE NOT EXISTS (
    SELECT FROM grants
    WHERE grants.transaction_id = published.transaction_id AND grants.revision >= published.revision
);
