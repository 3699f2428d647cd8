-- Locks a submission. Waits for a writer that is inserting a hold of another transaction of the submission.
-- $1 submission
SELECT 1 FROM held_submissions WHERE submission_key = $1 FOR UPDATE;
