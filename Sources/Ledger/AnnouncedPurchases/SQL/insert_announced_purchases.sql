-- Inserts purchases that Apple announced. The caller has locked the claims of their originals. A purchase that already
-- has a row keeps its first announcement. A held purchase keeps its evidence, because the hold may end without a grant.
-- $1–$16 a column each, sorted by transaction
INSERT INTO announced_purchases (
    transaction_id, original_transaction_id, bundle_id, product_id, environment, source, submission_id, token,
    is_renewal, purchased_at, expires_at, grace_expires_at, signed_at, evidence, previous_original_transaction_id,
    period_id, state, due_at, awaits_submission, decided_at)
SELECT told.transaction_id, told.original_transaction_id, told.bundle_id, told.product_id, told.environment,
    told.source, told.submission_id, CASE WHEN NOT known.is_granted THEN told.token END, told.is_renewal,
    told.purchased_at, told.expires_at, told.grace_expires_at, told.signed_at,
    CASE WHEN NOT known.is_granted THEN told.evidence END, told.previous_original_transaction_id, told.period_id,
    CASE WHEN known.is_granted OR known.is_held THEN 'claimed' ELSE 'waiting' END,
    CASE WHEN NOT (known.is_granted OR known.is_held) THEN now() END,
    NOT (known.is_granted OR known.is_held OR told.is_renewal AND known.has_owner),
    CASE WHEN known.is_granted OR known.is_held THEN now() END
FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::bool[],
    $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::bytea[], $15::text[],
    $16::text[])
    AS told (
        transaction_id, original_transaction_id, bundle_id, product_id, environment, source, submission_id, token,
        is_renewal, purchased_at, expires_at, grace_expires_at, signed_at, evidence,
        previous_original_transaction_id, period_id)
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM grants WHERE transaction_id = told.transaction_id) AS is_granted,
        EXISTS (SELECT FROM holds WHERE transaction_id = told.transaction_id) AS is_held,
        EXISTS (
            SELECT FROM grants
            WHERE transaction_id IN (told.original_transaction_id, told.previous_original_transaction_id)
                AND bundle_id = told.bundle_id AND environment = told.environment)
            OR EXISTS (
                SELECT FROM grants
                WHERE original_transaction_id IN (told.original_transaction_id, told.previous_original_transaction_id)
                    AND original_transaction_id <> transaction_id AND bundle_id = told.bundle_id
                    AND environment = told.environment) AS has_owner
) AS known
ON CONFLICT (transaction_id) DO NOTHING;
