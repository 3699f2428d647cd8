-- Revokes or reinstates grants, wholly or in part.
-- $1 transactions, sorted and locked; $2 since when they are revoked, or null; $3 their revisions; $4 revoked units, or
-- null; $5–$7 Apple's revocation and $8 an operator's, or null
UPDATE grants
SET revoked_at = changed.revoked_at, revision = changed.revision, revoked_units = changed.revoked_units,
    apple_revoked_at = changed.apple_revoked_at, apple_revocation_reason = changed.apple_revocation_reason,
    apple_revoked_milli_percent = changed.apple_revoked_milli_percent, operator_revoked_at = changed.operator_revoked_at
FROM unnest(
    $1::text[], $2::timestamptz[], $3::int4[], $4::int4[], $5::timestamptz[], $6::text[], $7::int4[], $8::timestamptz[]
) AS changed (
    transaction_id, revoked_at, revision, revoked_units, apple_revoked_at, apple_revocation_reason,
    apple_revoked_milli_percent, operator_revoked_at)
WHERE grants.transaction_id = changed.transaction_id;
