-- No row: another replica took its turn a moment ago. $1 what for; $2 seconds between two turns of anyone. A turn in the
-- future was taken before the clock was set back.
INSERT INTO maintenance_turns AS known (task, taken_at) VALUES ($1, clock_timestamp())
ON CONFLICT (task) DO UPDATE SET taken_at = excluded.taken_at
    WHERE known.taken_at NOT BETWEEN clock_timestamp() - make_interval(secs => $2) AND clock_timestamp()
RETURNING true;
