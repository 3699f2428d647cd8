-- Stores the latest report of each transaction. Makes a request due that waits for this report, or that ended only
-- because the player had not consented. $1–$5 a column each, sorted by app and transaction
WITH entered AS (
    INSERT INTO consumption_reports AS known (
        bundle_id, transaction_id, consumption_milli_percent, refund_preference, is_consented)
    SELECT * FROM unnest($1::text[], $2::text[], $3::int4[], $4::text[], $5::bool[])
    ON CONFLICT (transaction_id, bundle_id) DO UPDATE
    SET consumption_milli_percent = excluded.consumption_milli_percent, refund_preference = excluded.refund_preference,
        is_consented = excluded.is_consented, told_at = now()
), woken AS (
    UPDATE refund_requests
    SET due_at = now(), result = NULL, ended_at = NULL
    WHERE notification_id = ANY (ARRAY(
        SELECT waiting.notification_id
        FROM unnest($1::text[], $2::text[]) AS told (bundle_id, transaction_id)
        JOIN refund_requests AS waiting
            ON waiting.transaction_id = told.transaction_id AND waiting.bundle_id = told.bundle_id
        WHERE waiting.answer_by > now()
            AND ((waiting.due_at > now() AND waiting.tries = 0) OR waiting.result = 'not_consented')
        ORDER BY waiting.notification_id
        FOR UPDATE OF waiting))
)
SELECT database_history() AS history;
