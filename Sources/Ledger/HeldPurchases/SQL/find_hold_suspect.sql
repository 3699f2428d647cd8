-- Returns whether a hold is due for a try in isolation.
-- $1 the newest catalog
SELECT EXISTS (
    SELECT FROM holds
    WHERE takes >= 3 AND (due_at <= now() OR due_at IS NULL AND catalog_version < $1)
        AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
) AS is_due;
