-- As find_old_proofs. $1 the day; $2 how many
SELECT ctid::text FROM replays WHERE day < $1::date ORDER BY day LIMIT $2;
