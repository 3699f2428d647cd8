-- Deletes a submission, which is locked, once it has no hold.
-- $1 submission
DELETE FROM held_submissions
WHERE submission_key = $1 AND NOT EXISTS (SELECT FROM holds WHERE submission_key = $1);
