-- Releases the holds of one page of the table, so that workers decide them again. Ends the leases of these holds.
-- Returns the page's last transaction, or null after the last page, and the number of released holds.
-- $1 operator; $2 the transaction before the page; $3 the page's rows; $4–$7 an app, a reason, a player and a product,
-- or null; $8 the latest time of a hold, $9 how many in all, or null
WITH page AS (
    SELECT transaction_id
    FROM (SELECT transaction_id FROM holds WHERE transaction_id > $2 ORDER BY transaction_id LIMIT $3) AS looked
    ORDER BY transaction_id DESC
    LIMIT 1
), released AS (
    UPDATE holds
    SET waived = array_append(array_remove(waived, reason), reason), released_at = now(), due_at = now(), tries = 0,
        leased_until = NULL, note = NULL, takes = 0, is_alone = false, deaths_alone = 0
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM holds
        WHERE transaction_id > $2 AND transaction_id <= (SELECT transaction_id FROM page) AND released_at IS NULL
            AND ($4::text IS NULL OR bundle_id = $4) AND ($5::text IS NULL OR reason = $5)
            AND ($6::text IS NULL OR player_id = $6) AND ($7::text IS NULL OR product_id = $7)
            AND held_at <= coalesce($8::timestamptz, 'infinity')
        ORDER BY transaction_id
        LIMIT $9::int8
        FOR UPDATE))
    RETURNING holds.*
), remembered AS (
    INSERT INTO hold_decisions (
        transaction_id, player_id, bundle_id, product_id, submission_id, reason, decision, operator)
    SELECT transaction_id, player_id, bundle_id, product_id, submission_id, reason, 'release', $1
    FROM released
    RETURNING 1
)
SELECT (SELECT transaction_id FROM page) AS last_transaction_id, (SELECT count(*) FROM remembered) AS released;
