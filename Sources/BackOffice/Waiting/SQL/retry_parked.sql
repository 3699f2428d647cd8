-- Makes parked submissions due now and clears their crash history. Leaves out leased rows. $1 rows
UPDATE parked
SET due_at = now(), takes = 0, is_alone = false, deaths_alone = 0
WHERE id = ANY ($1::uuid[]) AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes');
