-- Deletes a locked submission that has no hold any more.
-- $1 submission
DELETE FROM held_submissions
WHERE submission_key = $1 AND NOT EXISTS (SELECT FROM holds WHERE submission_key = $1);
