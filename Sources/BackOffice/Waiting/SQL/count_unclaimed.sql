-- Counts unclaimed purchases, and the retriable rows among them, whose evidence is stored. The digest is a sum of the
-- retriable rows' hashes. It changes if other rows are retriable, even if the count stays.
-- $1–$4 a transaction, an app, a reason, a product, $5 the latest time at which Apple announced the purchase,
-- or null
SELECT count(*) AS waiting, count(evidence) AS part,
    coalesce(sum(hashtextextended(transaction_id, 0)) FILTER (WHERE evidence IS NOT NULL), 0)::text AS digests
FROM announced_purchases
WHERE state = 'unclaimed' AND ($1::text IS NULL OR transaction_id = $1) AND ($2::text IS NULL OR bundle_id = $2)
    AND ($3::text IS NULL OR reason = $3) AND ($4::text IS NULL OR product_id = $4)
    AND stored_at <= coalesce($5::timestamptz, 'infinity');
