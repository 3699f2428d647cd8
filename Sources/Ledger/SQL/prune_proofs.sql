-- $1 days since it was first seen; at most $2 rows at a time
DELETE FROM proofs
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM proofs WHERE seen_on < (now() AT TIME ZONE 'UTC')::date - $1::int4 LIMIT $2));
