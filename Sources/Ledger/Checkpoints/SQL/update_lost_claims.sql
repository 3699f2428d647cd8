-- Marks a group's lost claims as restored. Leaves out a row that needs older events than were read, and a row whose
-- fall back was noticed later.
-- $1 group; $2 the time since which events were read; $3 when the fall back was noticed, in whole milliseconds
UPDATE offsets_decided_again
SET claims_from = NULL
WHERE group_id = $1 AND claims_from >= $2 AND fell_back_at < $3::timestamptz + interval '1 millisecond';
