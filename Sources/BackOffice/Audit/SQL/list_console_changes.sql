-- Lists operators' changes, the newest first.
-- in: $1 limit int8, $2 rows left out int8
SELECT id, operator, change, subject, note, shown, began_at, ended_at, result
FROM console_changes
ORDER BY id DESC
LIMIT $1::int8 OFFSET $2::int8
