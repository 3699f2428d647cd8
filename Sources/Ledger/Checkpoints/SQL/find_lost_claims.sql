-- $1 group
SELECT min(claims_from) AS since, max(fell_back_at) AS noticed_at
FROM offsets_decided_again
WHERE group_id = $1 AND claims_from IS NOT NULL;
