-- Does the same as the statement file retry_parked.sql on one page of the table. Returns the page's last id, or null
-- after the last page, and the number of rows that became due.
-- $1 the id before the page; $2 the page's rows; $3–$5 an app, a reason and a player, or null; $6 the latest time of
-- parking, or null
WITH page AS (
    SELECT id FROM (SELECT id FROM parked WHERE id > $1 ORDER BY id LIMIT $2) AS looked ORDER BY id DESC LIMIT 1
), due AS (
    UPDATE parked
    SET due_at = now(), takes = 0, is_alone = false, deaths_alone = 0
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM parked
        WHERE id > $1 AND id <= (SELECT id FROM page) AND ($3::text IS NULL OR bundle_id = $3)
            AND ($4::text IS NULL OR reason = $4) AND ($5::text IS NULL OR player_id = $5)
            AND parked_at <= coalesce($6::timestamptz, 'infinity')
            AND (leased_until IS NULL OR leased_until NOT BETWEEN now() AND now() + interval '10 minutes')
        ORDER BY id
        FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT (SELECT id FROM page) AS last_id, (SELECT count(*) FROM due) AS changed;
