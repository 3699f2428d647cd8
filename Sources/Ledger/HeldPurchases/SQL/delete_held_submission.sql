-- With its last hold. $1 submission, locked
DELETE FROM held_submissions
WHERE submission_key = $1 AND NOT EXISTS (SELECT FROM holds WHERE submission_key = $1);
