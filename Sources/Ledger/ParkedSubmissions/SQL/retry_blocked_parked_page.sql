-- Makes rows of one page due, because their app's credentials work again. Returns the last row of the page, or null
-- after the last page, and how many rows became due.
-- $1 the row after which the page starts, by id; $2 the most rows of the page; $3 the app; $4 seconds over which the
-- tries are spread; $5 the reasons for which these rows were parked
WITH page AS (
    SELECT id FROM (SELECT id FROM parked WHERE id > $1 ORDER BY id LIMIT $2) AS looked ORDER BY id DESC LIMIT 1
), woken AS (
    UPDATE parked
    SET due_at = now() + make_interval(secs => $4 * random())
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM parked
        WHERE id > $1 AND id <= (SELECT id FROM page) AND bundle_id = $3 AND reason = ANY ($5::text[])
            AND due_at > now() + make_interval(secs => $4)
        ORDER BY id
        FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT (SELECT id FROM page) AS last_id, (SELECT count(*) FROM woken) AS changed;
