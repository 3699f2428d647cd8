-- $1 group; $2 since when events were read; $3 when the fall was noticed that they were read for, in whole milliseconds
UPDATE offsets_decided_again
SET claims_from = NULL
WHERE group_id = $1 AND claims_from >= $2 AND fell_back_at < $3::timestamptz + interval '1 millisecond';
