-- Grants that Apple took back, or reinstated. $1 transactions, sorted and locked; $2 when, or null; $3 their revisions
UPDATE grants
SET revoked_at = changed.revoked_at, revision = changed.revision
FROM unnest($1::text[], $2::timestamptz[], $3::int4[]) AS changed (transaction_id, revoked_at, revision)
WHERE grants.transaction_id = changed.transaction_id;
