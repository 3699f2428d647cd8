-- $1 submission keys, sorted, each once; $2 their submissions
INSERT INTO held_submissions (submission_key, submission)
SELECT * FROM unnest($1::uuid[], $2::bytea[])
ON CONFLICT DO NOTHING;
