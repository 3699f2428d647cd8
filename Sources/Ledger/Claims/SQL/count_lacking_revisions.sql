-- Counts published revisions that the database lacks: it has no such row, or only a lower revision.
-- $1 transactions, or original transactions of subscriptions; $2 revisions; $3 true for a subscription's revision
SELECT count(*) AS lacking
FROM unnest($1::text[], $2::int4[], $3::bool[]) AS published (id, revision, is_subscription)
WHERE NOT CASE
    WHEN is_subscription THEN EXISTS (
        SELECT FROM subscriptions
        WHERE subscriptions.original_transaction_id = published.id AND subscriptions.revision >= published.revision
    )
    ELSE EXISTS (
        SELECT FROM grants
        WHERE grants.transaction_id = published.id AND grants.revision >= published.revision
    )
END;
