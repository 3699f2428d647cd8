-- Makes those rows of one page due that wait until a failure at Apple ends. Returns the row after which the next page
-- starts, or null after the last page. $1 the row after which the page starts, by id; $2 the most rows of the page; $3
-- how many become due at most; $4 apps, an empty array for all
WITH looked AS MATERIALIZED (
    SELECT id, bundle_id, reason, due_at FROM parked WHERE id > $1 ORDER BY id LIMIT $2
), chosen AS MATERIALIZED (
    SELECT id
    FROM looked
    WHERE reason = 'apple_trouble' AND due_at > now() AND (cardinality($4::text[]) = 0 OR bundle_id = ANY ($4))
    ORDER BY id
    LIMIT $3
), woken AS (
    UPDATE parked
    SET due_at = now()
    WHERE due_at > now() AND id = ANY (ARRAY(
        SELECT id FROM parked WHERE id = ANY (ARRAY(SELECT id FROM chosen)) ORDER BY id FOR UPDATE SKIP LOCKED))
)
SELECT CASE
    WHEN (SELECT count(*) FROM chosen) >= $3 THEN (SELECT id FROM chosen ORDER BY id DESC LIMIT 1)
    WHEN (SELECT count(*) FROM looked) >= $2 THEN (SELECT id FROM looked ORDER BY id DESC LIMIT 1)
END AS last_id;
