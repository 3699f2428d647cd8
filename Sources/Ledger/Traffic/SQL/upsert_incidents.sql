-- Adds incidents that a worker noticed just now. Each kind and subject comes once, sorted.
-- $1 kinds text[], $2 subjects text[], $3 counts int8[]
INSERT INTO incidents AS known (kind, subject, count)
SELECT seen.kind, seen.subject, seen.count FROM unnest($1::text[], $2::text[], $3::int8[]) AS seen (kind, subject, count)
ON CONFLICT (kind, subject) DO UPDATE SET count = known.count + excluded.count, last_at = now();
