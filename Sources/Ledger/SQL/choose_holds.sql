-- For an operator who refuses them, by transaction behind $1. $2 how many; $3–$5 a transaction, an app, a reason, or null
SELECT transaction_id, original_transaction_id, product_id, reason, waived, released_at IS NOT NULL,
    held_submissions.submission, holds.submission_key, source_topic, source_partition, source_offset,
    source_timestamp, traceparent, evidence, tries, coalesce(leased_until, 'epoch'), NULL::int8, false, risk
FROM holds
LEFT JOIN held_submissions USING (submission_key)
WHERE transaction_id > $1 AND ($3::text IS NULL OR transaction_id = $3) AND ($4::text IS NULL OR bundle_id = $4)
    AND ($5::text IS NULL OR reason = $5)
ORDER BY transaction_id
LIMIT $2;
