-- Takes a turn at a maintenance task. Returns no row if another replica took the last turn less than $2 seconds ago.
-- Ignores a turn in the future, because the clock was set back after that turn.
-- $1 the task; $2 seconds between two turns
INSERT INTO maintenance_turns AS known (task, taken_at) VALUES ($1, clock_timestamp())
ON CONFLICT (task) DO UPDATE SET taken_at = excluded.taken_at
    WHERE known.taken_at NOT BETWEEN clock_timestamp() - make_interval(secs => $2) AND clock_timestamp()
RETURNING true;
