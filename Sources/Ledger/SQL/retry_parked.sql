-- Due now and free of suspicion, but for those that someone works on or changes. $1 a submission
UPDATE parked
SET due_at = now(), takes = 0, is_alone = false, deaths_alone = 0
WHERE submission_id = $1 AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes');
