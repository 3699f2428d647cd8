-- in: $1 operator text, $2 change text, $3 subject text, $4 note text, $5 shown int8
INSERT INTO console_changes (operator, change, subject, note, shown)
VALUES ($1::text, $2::text, $3::text, $4::text, $5::int8)
RETURNING id
