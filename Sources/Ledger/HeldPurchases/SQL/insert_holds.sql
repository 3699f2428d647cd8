-- Inserts holds. An existing hold is neither changed nor returned. A hold ends the wait of an announced purchase, but
-- keeps the purchase's evidence, because the hold may end without a grant.
-- $1–$25 a column each, sorted by transaction and player
WITH held AS (
    INSERT INTO holds (
        transaction_id, original_transaction_id, player_id, bundle_id, product_id, reason, submission_key,
        submission_id, environment, quantity, purchased_at, expires_at, catalog_version, held_at, source_topic,
        source_partition, source_offset, source_timestamp, traceparent, evidence, risk, source, is_renewal,
        period_id, is_bound)
    SELECT new.a, new.b, new.c, new.d, new.e, new.f, new.g, new.h, new.i, new.j, new.k, new.l, new.m, new.n, new.o,
        new.p, new.q, new.r, new.s, new.t, string_to_array(new.u, ','), new.v, new.w, new.x, new.y
    FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[],
        $10::int4[], $11::timestamptz[], $12::timestamptz[], $13::int8[], $14::timestamptz[], $15::text[], $16::int4[],
        $17::int8[], $18::timestamptz[], $19::text[], $20::bytea[], $21::text[], $22::text[], $23::bool[],
        $24::text[], $25::bool[])
        AS new (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
    ON CONFLICT DO NOTHING
    RETURNING transaction_id
), claimed AS (
    UPDATE announced_purchases
    SET state = 'claimed', reason = NULL, player_id = new.player_id, due_at = NULL, leased_until = NULL, decided_at = now(),
        takes = 0, is_alone = false, deaths_alone = 0
    FROM unnest($1::text[], $3::text[]) AS new (transaction_id, player_id)
    WHERE announced_purchases.transaction_id = new.transaction_id
        AND announced_purchases.transaction_id = ANY ($1::text[]) AND original_transaction_id = ANY ($2::text[])
        AND state IN ('waiting', 'unclaimed', 'ignored')
)
SELECT transaction_id FROM held;
