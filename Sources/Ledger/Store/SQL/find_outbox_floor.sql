-- Since when events are in the outbox, behind $1: a minute ago at most, for transactions under way show theirs later.
-- Microseconds of Unix time.
SELECT (extract(epoch FROM least(
    (SELECT created_at FROM outbox WHERE created_at >= $1::timestamptz ORDER BY created_at LIMIT 1),
    now() - interval '1 minute')) * 1000000)::int8 AS since;
