-- Makes rows of one page due, because their app's credentials work again. Returns the last row of the page, null behind the
-- end, and how many rows became due.
-- $1 the row behind which the page begins, by id; $2 rows of the page at most; $3 the app; $4 seconds over which the tries
-- are spread; $5 the reasons for which such rows wait
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
