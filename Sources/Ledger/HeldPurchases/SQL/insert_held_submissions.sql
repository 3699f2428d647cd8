-- $1 submission keys, sorted, each once; $2 their submissions. A row that is there is locked: it must not go with the
-- last of its earlier holds.
INSERT INTO held_submissions (submission_key, submission)
SELECT * FROM unnest($1::uuid[], $2::bytea[])
ON CONFLICT (submission_key) DO UPDATE SET submission = excluded.submission;
