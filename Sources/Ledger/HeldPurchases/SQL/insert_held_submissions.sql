-- Stores the submissions of holds. Locks an existing row, because another writer may be ending the submission's last
-- earlier hold, and would delete the row.
-- $1 submission keys, sorted, each once; $2 their submissions
INSERT INTO held_submissions (submission_key, submission)
SELECT * FROM unnest($1::uuid[], $2::bytea[])
ON CONFLICT (submission_key) DO UPDATE SET submission = excluded.submission;
