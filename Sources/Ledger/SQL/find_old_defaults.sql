-- As find_old_proofs, of what was decided before a day. $1 the day; $2 how many
SELECT ctid::text FROM outcomes_default WHERE decided_at < $1::date::timestamp AT TIME ZONE 'UTC' ORDER BY decided_at LIMIT $2;
