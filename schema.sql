-- receiptd's present database. PostgreSQL 14 or later. You may apply this file any number of times to an empty
-- database, or to a database of this version. For an older database run `receiptd migrate`, which applies migrations/
-- first to change existing tables.
--
-- Keys collate as bytes ("C"), so that identifiers compare as in Kafka and in the worker. Each table checks
-- environments and kinds itself: to change such a column to a domain would rewrite every row of grants, and would fail
-- if somebody else's view has the column.
-- Columns that belong together share a line. Columns that several tables have:
--
--   source_topic, source_partition, source_offset   the record's position in Kafka
--   due_at          when a worker may take the row; null: nothing is due
--   leased_until    the end of the present lease; null: no worker has a lease. In a table without this column, a lease moves due_at
--   tries           failed tries since the last success; in parked, the last tries at Apple
--   takes           leases without a result since the last result of a try, and the present lease. A lease has no result if
--                   its worker died, or if the database did not store the result. Released leases do not count
--   is_alone        the row is leased in isolation, because it may kill its worker
--   deaths_alone    how many workers died while they had this row in isolation

DO $$
BEGIN
    IF to_regclass('schema_version') IS NOT NULL THEN
        IF EXISTS (SELECT FROM schema_version WHERE version < 12) THEN
            RAISE 'this database has an older schema: run receiptd migrate';
        END IF;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS schema_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version integer NOT NULL CHECK (version >= 1),
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE schema_version IS 'One row: the number of the last migration that this database has.';

-- Grants and claims.

CREATE TABLE IF NOT EXISTS grants (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY, original_transaction_id text COLLATE "C",
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    quantity integer NOT NULL CHECK (quantity >= 1),
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    purchased_at timestamptz, submission_id text COLLATE "C" NOT NULL, granted_at timestamptz NOT NULL,
    -- When Apple or an operator first took back all or a part of the grant. Null: the grant is whole.
    revoked_at timestamptz,
    -- A hash of bundle, player, submission and proof. Null if another system wrote the grant.
    submission_key uuid,
    kind text COLLATE "C"
        CHECK (kind IN ('consumable', 'non_consumable', 'non_renewing_subscription', 'auto_renewable_subscription')),
    expires_at timestamptz,
    revision integer NOT NULL DEFAULT 1 CHECK (revision >= 1),
    -- The bytes of the granted event. If it is published again, it has the same bytes.
    event bytea,
    catalog_version bigint, is_bound boolean, app_transaction_id text COLLATE "C",
    -- The column has no index, because the period's row in claims decides who gets the period.
    period_id text COLLATE "C",
    price_milliunits bigint, currency text COLLATE "C", storefront text COLLATE "C",
    offer_type integer, offer_discount_type text COLLATE "C", transaction_reason text COLLATE "C", is_trial boolean,
    -- These columns are null if the grant is whole. If only revoked_at has a value, another system or a version before
    -- 6 wrote it, and Apple took back the whole grant.
    revoked_units integer CHECK (revoked_units >= 1),
    apple_revoked_at timestamptz,
    apple_revocation_reason text COLLATE "C" CHECK (apple_revocation_reason IN ('refund', 'revoke')),
    apple_revoked_milli_percent integer CHECK (apple_revoked_milli_percent BETWEEN 1 AND 100000),
    operator_revoked_at timestamptz,
    CONSTRAINT grants_event_belongs_to_a_submission CHECK ((event IS NULL) = (submission_key IS NULL))
);
CREATE INDEX IF NOT EXISTS grants_accounts ON grants (player_id, bundle_id, app_transaction_id) WHERE app_transaction_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS grants_players ON grants (player_id, purchased_at);
-- For renewals and restores. The index has no consumables.
CREATE INDEX IF NOT EXISTS grants_originals ON grants (original_transaction_id) WHERE original_transaction_id <> transaction_id;
-- For events and orders of the last days. Rows are nearly sorted by this column, so a block index costs very little.
CREATE INDEX IF NOT EXISTS grants_days ON grants USING brin (granted_at) WITH (autosummarize = on);
COMMENT ON TABLE grants IS 'One row for each transaction ever granted, never deleted. The columns up to revoked_at are for outside readers.';
COMMENT ON COLUMN grants.is_bound IS 'True if the submission that won the grant had the transaction''s appAccountToken. Null if version 1 or another system granted.';
COMMENT ON COLUMN grants.app_transaction_id IS 'Apple''s appTransactionId: the Apple account that bought the purchase in this app. Null if Apple did not give it.';
COMMENT ON COLUMN grants.period_id IS 'The id in claims of the subscription period that the purchase pays for. Null if the purchase pays for no period of an auto-renewable subscription, or if a version before 10 or another system granted it.';
COMMENT ON COLUMN grants.price_milliunits IS 'The price of the whole quantity, in thousandths of the currency''s main unit. This column and the next six, up to is_trial, have Apple''s values, and are null if Apple gave none. is_trial is true or null. Do not reconcile payments with these columns: Apple advises against it.';
COMMENT ON COLUMN grants.revoked_units IS 'How many units of quantity are taken back in all.';

CREATE TABLE IF NOT EXISTS claims (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    player_id text COLLATE "C", bundle_id text COLLATE "C" NOT NULL, granted_transaction_id text COLLATE "C",
    claimed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT claims_freed_holds_no_grant CHECK (player_id IS NOT NULL OR granted_transaction_id IS NULL)
);
COMMENT ON TABLE claims IS 'One row for each original transaction under which a purchase was granted, held, refunded or announced. A writer inserts or locks the rows, sorted by id, before it changes anything under them. player_id is the owner. It is null if a refused hold freed the claim, or if a report from Apple alone made the row. granted_transaction_id is the non-consumable that is granted under the claim. After a fall back of the database, it may also be the claim''s own id, if a worker published that transaction as granted. A restored copy that a worker published as granted then has a row of its own. Each period of an auto-renewable subscription also has one row, whatever transactions and originals report the period. Its id begins with "period ". Its granted_transaction_id is the transaction by which the period is held or was granted, even if the grant was revoked since. After a fall back, a published refund.requested also has a row, whose id begins with "refund request " and whose player_id is the event''s player.';

CREATE OR REPLACE FUNCTION claim_for_outside_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id, claimed_at)
    VALUES (coalesce(NEW.original_transaction_id, NEW.transaction_id), NEW.player_id, NEW.bundle_id,
            NEW.transaction_id, NEW.granted_at)
    -- The claim may have no owner: a hold was refused, or Apple refunded the purchase before it was granted.
    ON CONFLICT (original_transaction_id) DO UPDATE
    SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id
    WHERE claims.player_id IS NULL;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION claim_for_outside_grant IS 'Inserts the claim of a grant that another system or an import inserts, or makes the grant''s player the owner of an unowned claim.';
CREATE OR REPLACE TRIGGER outside_grant_claims AFTER INSERT ON grants
    FOR EACH ROW WHEN (NEW.submission_key IS NULL) EXECUTE FUNCTION claim_for_outside_grant();

CREATE TABLE IF NOT EXISTS grant_decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    decision text COLLATE "C" NOT NULL CHECK (decision IN ('revoke', 'reinstate')),
    operator text COLLATE "C" NOT NULL, note text COLLATE "C", decided_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS grant_decisions_transactions ON grant_decisions (transaction_id);
CREATE INDEX IF NOT EXISTS grant_decisions_players ON grant_decisions (player_id);
COMMENT ON TABLE grant_decisions IS 'Which operator revoked or reinstated which grant, and why. Never deleted.';

-- The plans of these functions never scan a table, even if the table was small when the plan was made.

CREATE OR REPLACE FUNCTION count_grants_of_days(
    bundles text[], players text[], products text[], days timestamptz[], most bigint
) RETURNS TABLE (number bigint, granted bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT wanted.number, counted.count
    FROM unnest(bundles, players, products, days)
        WITH ORDINALITY AS wanted (bundle_id, player_id, product_id, day, number)
    CROSS JOIN LATERAL (
        SELECT count(*)
        FROM (
            SELECT
            FROM grants
            WHERE grants.player_id = wanted.player_id AND grants.purchased_at >= wanted.day
                AND grants.purchased_at < wanted.day + interval '24 hours' AND grants.bundle_id = wanted.bundle_id
                AND (wanted.product_id IS NULL OR grants.product_id = wanted.product_id)
                AND (grants.revoked_at IS NULL OR coalesce(grants.revoked_units, grants.quantity) < grants.quantity)
            LIMIT most
        ) AS one
    ) AS counted;
END
$$;
COMMENT ON FUNCTION count_grants_of_days IS 'Counts the grants that are not wholly revoked, for each player, app, product (null: any) and UTC day of purchase. Each count stops at the parameter most.';

CREATE OR REPLACE FUNCTION accounts_of_players(bundles text[], players text[], most bigint)
RETURNS TABLE (number bigint, accounts text[]) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT wanted.number, (
        SELECT array_agg(account)
        FROM (
            SELECT DISTINCT app_transaction_id AS account
            FROM grants
            WHERE player_id = wanted.player_id AND bundle_id = wanted.bundle_id AND app_transaction_id IS NOT NULL
            LIMIT most) AS known)
    FROM unnest(bundles, players) WITH ORDINALITY AS wanted (bundle_id, player_id, number)
$$;
COMMENT ON FUNCTION accounts_of_players IS 'Returns the Apple accounts that bought each player''s purchases in an app, no more than the parameter most. Only workers before version 9 call it.';

-- Holds.

CREATE TABLE IF NOT EXISTS holds (
    transaction_id text COLLATE "C" NOT NULL, original_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    -- reason is a code of the Swift type Reason.
    reason text COLLATE "C" NOT NULL, submission_key uuid NOT NULL, submission_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    quantity integer NOT NULL CHECK (quantity >= 1),
    purchased_at timestamptz NOT NULL, expires_at timestamptz, catalog_version bigint NOT NULL, held_at timestamptz NOT NULL,
    source_topic text COLLATE "C" NOT NULL, source_partition integer NOT NULL, source_offset bigint NOT NULL,
    -- The record's own time, by which expiry is judged, even if the hold ends later.
    source_timestamp timestamptz NOT NULL,
    -- receiptd never sets this column, but version 1 reads it. Refusals have a table of their own.
    refused_at timestamptz,
    traceparent text COLLATE "C",
    -- Apple's description of the transaction, as JSON. With it a new catalog can end the hold without a request to
    -- Apple.
    evidence bytea,
    -- Reasons that an operator's release overrides.
    waived text[] COLLATE "C" NOT NULL DEFAULT '{}',
    released_at timestamptz,
    -- Null if only an operator or a new catalog causes a try, or if the hold killed its workers.
    due_at timestamptz, tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0), leased_until timestamptz,
    -- What an operator should know about the last try, in words. Null if there is nothing to say. An operator's release
    -- clears the note.
    note text COLLATE "C",
    -- The risk signals of the held event, for the event that ends the hold.
    risk text[] COLLATE "C" NOT NULL DEFAULT '{}',
    period_id text COLLATE "C",
    -- Where the purchase came from, and whether it is judged as a renewal of its owner's subscription.
    source text COLLATE "C" NOT NULL DEFAULT 'submission'
        CHECK (source IN ('submission', 'notification', 'history', 'renewal')),
    is_renewal boolean NOT NULL DEFAULT false,
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0), is_alone boolean NOT NULL DEFAULT false,
    -- A try that the worker survives sets it to 0. So does an operator who releases the hold.
    deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0),
    -- As in grants. Null if a version before 12 wrote the hold.
    is_bound boolean,
    PRIMARY KEY (transaction_id, player_id)
);
-- At most one hold of a transaction claims it. The holds of other players, who dispute the claim, claim nothing.
CREATE UNIQUE INDEX IF NOT EXISTS holds_claiming ON holds (transaction_id) WHERE reason <> 'ownership_disputed';
CREATE INDEX IF NOT EXISTS holds_due ON holds (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS holds_suspects ON holds (due_at) WHERE takes >= 3;
CREATE INDEX IF NOT EXISTS holds_outdated ON holds (catalog_version) WHERE due_at IS NULL;
CREATE INDEX IF NOT EXISTS holds_originals ON holds (original_transaction_id);
CREATE INDEX IF NOT EXISTS holds_submissions ON holds (submission_key);
CREATE INDEX IF NOT EXISTS holds_players ON holds (player_id);
CREATE INDEX IF NOT EXISTS holds_names ON holds (submission_id);
-- For `receiptd holds`, by app, reason or both, oldest first.
CREATE INDEX IF NOT EXISTS holds_kinds ON holds (bundle_id, reason, held_at, transaction_id);
COMMENT ON TABLE holds IS 'One row for each transaction and player, while the purchase waits for an operator or another catalog. The SQL transaction that grants or rejects the purchase deletes the row. catalog_version is the catalog that last decided the hold; a worker with a newer catalog decides it again. An operator''s command ends a worker''s lease of the row.';
COMMENT ON COLUMN holds.period_id IS 'As in grants.';

CREATE OR REPLACE FUNCTION refuse_to_end_two_holds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ended GROUP BY transaction_id HAVING count(*) > 1) THEN
        RAISE 'two players wait for one of these transactions: end the wait of each by itself';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION refuse_to_end_two_holds IS 'Workers and commands before version 12 expect one hold of a transaction. They would also delete another player''s hold, without an event for that player.';
CREATE OR REPLACE TRIGGER holds_end_one_by_one AFTER DELETE ON holds
    REFERENCING OLD TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_end_two_holds();

CREATE OR REPLACE FUNCTION kinds_of_holds(wanted_bundle text, wanted_reason text)
RETURNS TABLE (bundle_id text, reason text) LANGUAGE sql STABLE ROWS 20 SET enable_seqscan = off AS $$
    -- Each step finds the next pair with one search of the index.
    WITH RECURSIVE known AS (
        (SELECT bundle_id, reason FROM holds ORDER BY bundle_id, reason LIMIT 1)
        UNION ALL
        SELECT following.*
        FROM known CROSS JOIN LATERAL (
            SELECT bundle_id, reason FROM holds WHERE (bundle_id, reason) > (known.bundle_id, known.reason)
            ORDER BY bundle_id, reason LIMIT 1) AS following
    )
    SELECT * FROM known
    WHERE (wanted_bundle IS NULL OR bundle_id = wanted_bundle) AND (wanted_reason IS NULL OR reason = wanted_reason)
$$;
COMMENT ON FUNCTION kinds_of_holds IS 'Returns each pair of app and reason that has holds, of one app, one reason, or any (null).';

CREATE TABLE IF NOT EXISTS held_submissions (
    submission_key uuid NOT NULL PRIMARY KEY, submission bytea NOT NULL
);
COMMENT ON TABLE held_submissions IS 'The submissions of holds, as JSON of the submissions topic, with which a worker can ask Apple again. A row is deleted with the last hold of its submission.';

CREATE TABLE IF NOT EXISTS refusals (
    transaction_id text COLLATE "C" NOT NULL, player_id text COLLATE "C" NOT NULL, refused_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (transaction_id, player_id)
);
CREATE INDEX IF NOT EXISTS refusals_players ON refusals (player_id);
COMMENT ON TABLE refusals IS 'Transactions that an operator refused to a player. They stay refused to that player, whoever gets the transaction later. A refused period and the original of a refused restored copy have rows too. Never deleted.';

CREATE TABLE IF NOT EXISTS hold_decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    -- reason is the hold's, a code of the Swift type Reason.
    submission_id text COLLATE "C" NOT NULL, reason text COLLATE "C" NOT NULL,
    decision text COLLATE "C" NOT NULL CHECK (decision IN ('release', 'reject')),
    operator text COLLATE "C" NOT NULL, decided_at timestamptz NOT NULL DEFAULT now(), event_id uuid
);
CREATE INDEX IF NOT EXISTS hold_decisions_transactions ON hold_decisions (transaction_id);
CREATE INDEX IF NOT EXISTS hold_decisions_players ON hold_decisions (player_id);
CREATE INDEX IF NOT EXISTS hold_decisions_names ON hold_decisions (submission_id);
COMMENT ON TABLE hold_decisions IS 'Which operator released or refused which hold, and why it was held. Never deleted.';
COMMENT ON COLUMN hold_decisions.event_id IS 'The event that ended a rejected hold. Null for a release, or if a version before 10 wrote the row.';

-- Counts for risk signals.

CREATE TABLE IF NOT EXISTS device_sightings (
    bundle_id text COLLATE "C" NOT NULL, device_id text COLLATE "C" NOT NULL, day date NOT NULL,
    player_id text COLLATE "C" NOT NULL
);
-- The table has no key, so that two batches may insert one sighting without waiting for each other. Logical replication
-- of a DELETE must still tell rows apart, hence REPLICA IDENTITY FULL. An index of days would slow down each sighting,
-- so a worker reads an eighth of the table each day instead.
DO $$
BEGIN
    IF (SELECT relreplident FROM pg_class WHERE oid = 'device_sightings'::regclass) <> 'f' THEN
        ALTER TABLE device_sightings REPLICA IDENTITY FULL;
    END IF;
END
$$;
-- The day comes last. With fewer columns before it, the planner would sort all rows of a device to find the newest.
CREATE INDEX IF NOT EXISTS device_sightings_devices ON device_sightings (device_id, bundle_id, day);
COMMENT ON TABLE device_sightings IS 'Which players submitted from which device on which UTC day, for the signal shared_device. Read for 30 days, and deleted within eight more.';

CREATE OR REPLACE FUNCTION players_of_devices(bundles text[], devices text[], since date[], most bigint)
RETURNS TABLE (number bigint, players text[]) LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT wanted.number, ARRAY(
        SELECT DISTINCT known.player_id
        FROM device_sightings AS known
        WHERE known.bundle_id = wanted.bundle_id AND known.device_id = wanted.device_id AND known.day >= wanted.since
        LIMIT most)
    FROM unnest(bundles, devices, since) WITH ORDINALITY AS wanted (bundle_id, device_id, since, number)
    WHERE wanted.device_id IS NOT NULL
$$;
COMMENT ON FUNCTION players_of_devices IS 'Returns the players who were seen on each device since a day, no more than the parameter most. Only workers before version 9 call it.';

CREATE TABLE IF NOT EXISTS replays (
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, day date NOT NULL,
    submissions integer NOT NULL CHECK (submissions >= 1), latest_at timestamptz NOT NULL,
    PRIMARY KEY (player_id, bundle_id, day)
);
CREATE INDEX IF NOT EXISTS replays_days ON replays (day);
COMMENT ON TABLE replays IS 'How many submissions of a player were for purchases that another player owns, by UTC day of the decision. Forgotten after 30 days.';

CREATE OR REPLACE FUNCTION replays_before(players text[], bundles text[], days date[])
RETURNS TABLE (number bigint, submissions bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT wanted.number, (
        SELECT coalesce(sum(known.submissions), 0)
        FROM replays AS known
        WHERE known.player_id = wanted.player_id AND known.bundle_id = wanted.bundle_id
            AND known.day > wanted.day - 30 AND known.day < wanted.day)
    FROM unnest(players, bundles, days) WITH ORDINALITY AS wanted (player_id, bundle_id, day, number);
END
$$;
COMMENT ON FUNCTION replays_before IS 'Returns how many replays each player sent in the 29 days before a day.';

CREATE TABLE IF NOT EXISTS account_tokens (
    bundle_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the token in lower case, as in every table with a token. No table has a token itself.
    token bytea NOT NULL CHECK (octet_length(token) = 32),
    player_id text COLLATE "C", learnt_at timestamptz,
    PRIMARY KEY (bundle_id, token)
);
CREATE INDEX IF NOT EXISTS account_tokens_players ON account_tokens (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE account_tokens IS 'Account tokens that were in the submission and in Apple''s data of a granted or held transaction. player_id is the player of the first grant. A writer locks the token''s row before it writes about the token here or in the next two tables.';

CREATE TABLE IF NOT EXISTS account_token_senders (
    bundle_id text COLLATE "C" NOT NULL, token bytea NOT NULL, player_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (bundle_id, token, player_id)
);
CREATE INDEX IF NOT EXISTS account_token_senders_players ON account_token_senders (player_id);
COMMENT ON TABLE account_token_senders IS 'The players who sent an account token with a granted or held transaction that has the token. A token has at most six rows: a token that six players sent is a constant of the client, and identifies nobody.';

CREATE TABLE IF NOT EXISTS account_token_accounts (
    bundle_id text COLLATE "C" NOT NULL, token bytea NOT NULL, app_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (bundle_id, token, app_transaction_id)
);
CREATE INDEX IF NOT EXISTS account_token_accounts_players ON account_token_accounts (player_id);
COMMENT ON TABLE account_token_accounts IS 'The Apple accounts (appTransactionId) that bought purchases with an account token. player_id is the player who was granted the account''s first such purchase. A token has at most six rows.';

-- Records, their outcomes and their offsets.

CREATE TABLE IF NOT EXISTS outcomes (
    day date NOT NULL,
    source_topic text COLLATE "C" NOT NULL, source_partition integer NOT NULL, source_offset bigint NOT NULL,
    content bytea NOT NULL CHECK (octet_length(content) = 16),
    submission_key uuid NOT NULL, submission_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL,
    proof bytea NOT NULL CHECK (octet_length(proof) = 32),
    granted_transaction_ids text[] COLLATE "C" NOT NULL, answer bytea,
    decided_at timestamptz NOT NULL, story text COLLATE "C",
    CONSTRAINT outcomes_answer_something CHECK (answer IS NOT NULL OR cardinality(granted_transaction_ids) > 0),
    PRIMARY KEY (day, source_partition, source_offset, source_topic, content)
) PARTITION BY RANGE (day);
COMMENT ON TABLE outcomes IS 'The answer to each record: the events of the grants in granted_transaction_ids, in publishing order, then the event in answer. day is the UTC day of the record''s timestamp, except in outcomes_apart. content is the first half of the SHA-256 of the record''s value: if a topic is deleted and created again, two records may have the same offset. The partitions outcomes_YYYYMMDD are dropped whole.';
COMMENT ON COLUMN outcomes.story IS 'The decision''s trace as JSON: the submission without its proof, whether receiptd found the signature valid, and the last tries at Apple. Null if version 1 or 2 decided.';

CREATE TABLE IF NOT EXISTS outcomes_default PARTITION OF outcomes DEFAULT;
CREATE INDEX IF NOT EXISTS outcomes_default_decided ON outcomes_default (decided_at);
COMMENT ON TABLE outcomes_default IS 'Outcomes of records whose day had no partition. Maintenance moves them to outcomes_apart, because PostgreSQL reads all rows here whenever a day''s partition is created.';

CREATE TABLE IF NOT EXISTS outcomes_apart PARTITION OF outcomes FOR VALUES FROM ('0001-01-01') TO ('0001-01-02');
CREATE INDEX IF NOT EXISTS outcomes_apart_decided ON outcomes_apart (decided_at);
COMMENT ON TABLE outcomes_apart IS 'Outcomes of records whose day gets no partition, because it is long past or far ahead, and rows from outcomes_default. The column day is 0001-01-01 in all rows, so a search for a record must also read this partition. Maintenance deletes old rows.';

-- A worker creates and drops partitions with the rights of the tables' owner. Each function checks that its caller has
-- a corresponding right on outcomes. The function waits 0.1 s at most for a lock, because a session that waits for an
-- exclusive lock blocks all later sessions.

CREATE OR REPLACE FUNCTION make_outcomes_day(wanted date) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '100ms' AS $$
DECLARE
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user::text);
    place text;
    child text := 'outcomes_' || to_char(wanted::timestamp, 'YYYYMMDD');
BEGIN
    IF NOT has_table_privilege(caller, 'outcomes', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = 'make_outcomes_day needs the right to INSERT on outcomes';
    END IF;
    IF wanted IS NULL OR NOT isfinite(wanted) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'make_outcomes_day needs a day';
    END IF;
    SELECT nspname INTO STRICT place
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = 'outcomes'::regclass;
    -- One session at a time. This lock blocks neither readers nor writers.
    LOCK TABLE ONLY outcomes IN SHARE UPDATE EXCLUSIVE MODE;
    IF to_regclass(format('%I.%I', place, child)) IS NOT NULL THEN
        RETURN 'exists';
    END IF;
    -- Attaching a partition reads the whole default partition under an exclusive lock.
    IF pg_relation_size('outcomes_default') > 8388608 THEN
        RETURN 'default_is_large';
    END IF;
    IF EXISTS (SELECT FROM outcomes_default WHERE day = wanted) THEN
        RETURN 'default_has_rows';
    END IF;
    EXECUTE format('CREATE TABLE %I.%I (LIKE %I.outcomes INCLUDING ALL)', place, child, place);
    BEGIN
        EXECUTE format('ALTER TABLE %I.outcomes ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)',
            place, place, child, wanted, wanted + 1);
    EXCEPTION WHEN check_violation THEN
        -- Another session inserted a row of that day meanwhile.
        EXECUTE format('DROP TABLE %I.%I', place, child);
        RETURN 'default_has_rows';
    END;
    RETURN 'made';
END
$$;
COMMENT ON FUNCTION make_outcomes_day IS 'Creates the partition of outcomes for a UTC day, for a role that may INSERT there. Returns made, exists, default_has_rows (maintenance must move them first) or default_is_large (PostgreSQL would read all of outcomes_default).';

CREATE OR REPLACE FUNCTION drop_outcomes_day(old date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = '100ms' AS $$
DECLARE
    caller text := coalesce(nullif(current_setting('role'), 'none'), session_user::text);
    child regclass;
BEGIN
    IF NOT has_table_privilege(caller, 'outcomes', 'DELETE') THEN
        RAISE insufficient_privilege USING MESSAGE = 'drop_outcomes_day needs the right to DELETE on outcomes';
    END IF;
    IF old >= (now() AT TIME ZONE 'UTC')::date - 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'drop_outcomes_day does not drop a day that is not over';
    END IF;
    -- Only a partition of outcomes may be dropped.
    SELECT pg_class.oid INTO child
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'outcomes'::regclass AND relname = 'outcomes_' || to_char(old::timestamp, 'YYYYMMDD');
    IF child IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %s', child);
    RETURN true;
END
$$;
COMMENT ON FUNCTION drop_outcomes_day IS 'Drops the partition of outcomes for a UTC day that is over, for a role that may DELETE there. Returns false if the day has no partition.';

-- Both functions look up names only in the schema of outcomes, whatever the caller's search_path.
DO $$
DECLARE
    place name;
BEGIN
    SELECT nspname INTO STRICT place
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE pg_class.oid = 'outcomes'::regclass;
    EXECUTE format('ALTER FUNCTION make_outcomes_day SET search_path = pg_catalog, %I, pg_temp', place);
    EXECUTE format('ALTER FUNCTION drop_outcomes_day SET search_path = pg_catalog, %I, pg_temp', place);
END
$$;

CREATE TABLE IF NOT EXISTS maintenance_turns (task text COLLATE "C" NOT NULL PRIMARY KEY, taken_at timestamptz NOT NULL);
COMMENT ON TABLE maintenance_turns IS 'When a replica last took its turn at a maintenance task. One replica at a time does each task for all.';

CREATE TABLE IF NOT EXISTS proofs (
    proof bytea NOT NULL PRIMARY KEY CHECK (octet_length(proof) = 32),
    evidence bytea NOT NULL,
    transaction_ids text[] COLLATE "C" NOT NULL CHECK (cardinality(transaction_ids) > 0), seen_on date NOT NULL
);
CREATE INDEX IF NOT EXISTS proofs_days ON proofs (seen_on);
COMMENT ON TABLE proofs IS 'Apple''s answers as JSON, by the SHA-256 of the decoded proof. An answer is kept if all its purchases are granted or held, so that receiptd need not ask Apple about the same proof again. An answer with an auto-renewable subscription is never kept.';

CREATE TABLE IF NOT EXISTS outbox (
    event_id uuid NOT NULL PRIMARY KEY,
    source_topic text COLLATE "C" NOT NULL, source_partition integer NOT NULL,
    -- Orders the events of one SQL transaction, which have the same created_at.
    ordinal integer NOT NULL,
    record_key text COLLATE "C" NOT NULL, traceparent text COLLATE "C",
    transaction_id text COLLATE "C", event bytea,
    created_at timestamptz NOT NULL DEFAULT now(), leased_until timestamptz,
    CONSTRAINT outbox_bytes_stand_in_one_place CHECK ((transaction_id IS NULL) <> (event IS NULL))
) WITH (
    -- VACUUM does not truncate the table. PostgreSQL plans a scan for an empty table, and would keep that plan when the
    -- table is full.
    vacuum_truncate = false,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000
);
-- For sweeps. The table keeps its largest size, and a sweep must not read its dead rows.
CREATE INDEX IF NOT EXISTS outbox_created ON outbox (created_at, ordinal);
-- For workers, which use it every second.
CREATE INDEX IF NOT EXISTS outbox_handed_over ON outbox (created_at, ordinal) WHERE leased_until = '-infinity';
COMMENT ON COLUMN outbox.leased_until IS 'The end of the lease of the worker that publishes the event. -infinity: an operator''s command decided the event, and any worker publishes it. Null: the worker that decided the event publishes it from memory.';
COMMENT ON TABLE outbox IS 'Events that the broker has not acknowledged yet. The bytes of a granted event are in its grant. A worker publishes its own events from memory, and reads here only the events of operators, of other workers or of an earlier process.';

CREATE TABLE IF NOT EXISTS partition_progress (
    topic text COLLATE "C" NOT NULL, partition integer NOT NULL,
    -- Writers of one replica must not wait for one another's commits.
    writer smallint NOT NULL,
    decided_offset bigint NOT NULL,
    PRIMARY KEY (topic, partition, writer)
) WITH (fillfactor = 50);
COMMENT ON TABLE partition_progress IS 'For each partition of the submissions topic, an offset above which no record was ever decided. The offset is rounded up, so that it is written rarely.';

CREATE OR REPLACE FUNCTION database_history() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    history text := current_setting('receiptd.database_history', true);
    timeline text := 'standby';
BEGIN
    -- A server that may write keeps its history until it stops. The stop also ends this session.
    IF history <> '' THEN
        RETURN history;
    END IF;
    IF NOT pg_is_in_recovery() THEN
        BEGIN
            timeline := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
        EXCEPTION WHEN OTHERS THEN
            -- Some hosted services hide the write-ahead log.
            timeline := 'hidden';
        END;
    END IF;
    -- A data directory that is put back has the same timeline and database, but another start of its server.
    history := concat_ws('/', timeline, (SELECT oid FROM pg_database WHERE datname = current_database()),
        extract(epoch FROM pg_postmaster_start_time()));
    IF timeline <> 'standby' THEN
        PERFORM set_config('receiptd.database_history', history, false);
    END IF;
    RETURN history;
END
$$;
COMMENT ON FUNCTION database_history IS 'Returns the identity of this database from one start of its server to the next. A database with another identity may lack decisions: a promoted replica has a new timeline, a restored dump is another database, and a restored data directory has another start of the server.';

CREATE TABLE IF NOT EXISTS durable_offsets (
    topic text COLLATE "C" NOT NULL, partition integer NOT NULL,
    next_offset bigint NOT NULL, noted_at timestamptz NOT NULL DEFAULT now(),
    departures bigint NOT NULL DEFAULT 0 CHECK (departures >= 0),
    PRIMARY KEY (topic, partition)
) WITH (fillfactor = 50);
COMMENT ON TABLE durable_offsets IS 'The offsets that versions up to 3 stored, for one consumer group only. A worker reads them if a partition has no row in offset_checkpoints.';

CREATE TABLE IF NOT EXISTS offset_checkpoints (
    group_id text COLLATE "C" NOT NULL, topic text COLLATE "C" NOT NULL, partition integer NOT NULL,
    next_offset bigint NOT NULL, writer bigint NOT NULL, version bigint NOT NULL CHECK (version > 0),
    departures bigint NOT NULL DEFAULT 0 CHECK (departures >= 0), written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, topic, partition)
) WITH (fillfactor = 50);
COMMENT ON TABLE offset_checkpoints IS 'For each consumer group and partition, the offset before which every record is decided in this database. A worker writes the row after the decisions and before it commits the offset to Kafka, and only if the row is as the worker left it. If the database was restored, the row is older. Then the worker reads the partition again from the lower of the two offsets.';
COMMENT ON COLUMN offset_checkpoints.writer IS 'A random number of the partition''s owner.';
COMMENT ON COLUMN offset_checkpoints.version IS 'Counts the writes of all owners.';
COMMENT ON COLUMN offset_checkpoints.departures IS 'How many owners gave the partition up without dying. With this count, the next owner knows of such a departure even if Kafka does not.';

CREATE TABLE IF NOT EXISTS offsets_decided_again (
    group_id text COLLATE "C" NOT NULL, topic text COLLATE "C" NOT NULL, partition integer NOT NULL,
    below_offset bigint NOT NULL, fell_back_at timestamptz NOT NULL DEFAULT now(),
    revisions_above integer NOT NULL DEFAULT extract(epoch FROM now() - timestamptz '2026-01-01 00:00:00+00')::integer,
    claims_from timestamptz,
    PRIMARY KEY (topic, partition, group_id)
);
CREATE INDEX IF NOT EXISTS offsets_decided_again_times ON offsets_decided_again (fell_back_at);
COMMENT ON TABLE offsets_decided_again IS 'The losses when the database fell back to an earlier state: workers may have decided and published records before below_offset in the lost state. They decide these records again. A lost grant may have reached the game. So a refund or an upgrade does not prevent the new grant; a refunded purchase is revoked at once. If Apple has reversed the refund, a reinstatement is published. If Apple no longer knows a transaction that it signed, the worker asks several times before it holds the purchase. The function lost_before uses this table for holds, announced purchases and notifications, and revision_floor uses it for the next revisions.';
COMMENT ON COLUMN offsets_decided_again.fell_back_at IS 'When a worker last noticed a fall back.';
COMMENT ON COLUMN offsets_decided_again.claims_from IS 'A time of the state to which the database fell back, or an earlier time. Before workers decide anything again, a worker enters into claims the purchases that were published as granted, and the refund requests that were published, since this time. Null after that.';
COMMENT ON COLUMN offsets_decided_again.revisions_above IS 'The next revisions of grants and subscriptions are above this number, because higher revisions than the database has may have been published. It counts the seconds from 2026 to the fall back. No row changes once a second, so all earlier revisions are lower.';

CREATE TABLE IF NOT EXISTS database_lives (
    life text COLLATE "C" NOT NULL PRIMARY KEY, begun_at timestamptz NOT NULL DEFAULT now(),
    revisions_above integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE database_lives IS 'The lives of this database that revision_floor has seen: pairs of a timeline and the server''s system identifier. A promoted replica and a recovered backup begin a new life, and may lack revisions that were published before. revisions_above is as in offsets_decided_again, and 0 for the first life.';

CREATE OR REPLACE FUNCTION revision_floor() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    current_life text := current_setting('receiptd.database_life', true);
BEGIN
    -- The life is constant until the server stops. Unlike database_history, it leaves out the server's start, because a
    -- restart loses nothing.
    IF coalesce(current_life, '') = '' THEN
        current_life := split_part(database_history(), '/', 1);
        BEGIN
            current_life := current_life || '/' || (SELECT system_identifier FROM pg_control_system());
        EXCEPTION WHEN OTHERS THEN
            NULL; -- Some hosted services hide this.
        END;
        PERFORM set_config('receiptd.database_life', current_life, false);
    END IF;
    INSERT INTO database_lives (life, revisions_above)
    SELECT current_life, CASE WHEN EXISTS (SELECT FROM database_lives)
        THEN extract(epoch FROM now() - timestamptz '2026-01-01 00:00:00+00')::integer ELSE 0 END
    WHERE NOT EXISTS (SELECT FROM database_lives WHERE life = current_life)
    ON CONFLICT DO NOTHING;
    RETURN greatest(
        (SELECT max(revisions_above) FROM database_lives), (SELECT max(revisions_above) FROM offsets_decided_again));
END
$$;
COMMENT ON FUNCTION revision_floor IS 'Returns a number at or above every revision that was published before the database last fell back; 0 if it never fell back. The next revision of a grant or a subscription is above this number and above the stored revision.';
DO $$ BEGIN PERFORM revision_floor(); END $$;

CREATE OR REPLACE FUNCTION lost_before() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    -- LostDecisions.clockMargin
    SELECT interval '1 hour' + greatest(
        (SELECT max(fell_back_at) FROM offsets_decided_again),
        (SELECT max(begun_at) FROM database_lives WHERE revisions_above > 0))
$$;
COMMENT ON FUNCTION lost_before IS 'Returns the time until which workers may have processed records and notifications in a state that the database lost; null if no state is lost.';

CREATE OR REPLACE FUNCTION may_be_lost(known_since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(known_since <= lost_before(), false)
$$;
COMMENT ON FUNCTION may_be_lost IS 'Returns whether the database may have fallen back after a hold or an announced purchase became known. Then a worker may have published a grant of the purchase, and the database may have lost the grant.';

-- Catalogs, and submissions that wait.

CREATE TABLE IF NOT EXISTS catalogs (
    version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document text NOT NULL, sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    imported_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE catalogs IS 'Every catalog ever imported, as it was written. The highest version is in force.';

CREATE TABLE IF NOT EXISTS parked (
    id uuid NOT NULL PRIMARY KEY,
    source_topic text COLLATE "C" NOT NULL, source_partition integer NOT NULL, source_offset bigint NOT NULL,
    source_timestamp timestamptz NOT NULL,
    submission_key uuid NOT NULL, submission_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL,
    proof bytea NOT NULL CHECK (octet_length(proof) = 32),
    -- reason is a code of the Swift type ParkingReason.
    reason text COLLATE "C" NOT NULL, sql_state text COLLATE "C", detail text COLLATE "C",
    -- How many tries ended in trouble at Apple or were blocked by wrong settings, tries in memory included. Trouble
    -- without a request to Apple does not count.
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    -- How often Apple gave each doubtful answer, by the answer's reason.
    doubts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(doubts) = 'object'),
    -- When the first try ended without a verdict, or when the submission was parked without a try. Null if PostgreSQL
    -- refused the data of a submission that was not parked yet.
    first_failure_at timestamptz,
    -- How many parkings lengthen the delay until the next try, as WaitingHistory counts them.
    parkings integer NOT NULL DEFAULT 0 CHECK (parkings >= 0), parked_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz, leased_until timestamptz,
    -- The last tries at Apple, as JSON.
    tries text COLLATE "C",
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0), is_alone boolean NOT NULL DEFAULT false,
    deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0),
    -- False if receiptd found no signature that shows that Apple signed the proof for this app. The limits of unproven
    -- proofs count only such rows.
    is_proven boolean NOT NULL DEFAULT true,
    -- The game server's order id, for searches. Null if there is none, or if a version before 12 wrote the row.
    order_id text COLLATE "C"
) WITH (
    -- As for the outbox, because rows do not stay long.
    vacuum_truncate = false,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX IF NOT EXISTS parked_unproven ON parked (player_id, proof) WHERE NOT is_proven;
CREATE INDEX IF NOT EXISTS parked_suspects ON parked (due_at) WHERE due_at IS NOT NULL AND takes >= 3;
CREATE INDEX IF NOT EXISTS parked_due ON parked (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS parked_proofs ON parked (proof);
CREATE INDEX IF NOT EXISTS parked_players ON parked (player_id) WHERE reason <> 'player_share';
CREATE INDEX IF NOT EXISTS parked_shares ON parked (player_id, due_at) WHERE reason = 'player_share';
-- The order in which `receiptd parked` lists and retries rows.
CREATE INDEX IF NOT EXISTS parked_kinds ON parked (bundle_id, reason, parked_at, id);
CREATE INDEX IF NOT EXISTS parked_names ON parked (submission_id);
CREATE INDEX IF NOT EXISTS parked_orders ON parked (order_id) WHERE order_id IS NOT NULL;
COMMENT ON TABLE parked IS 'The schedule of submissions that wait outside of memory. The SQL transaction that decides a submission deletes its row. due_at is null if only an operator ends the wait: PostgreSQL refused the submission''s data (sql_state and detail say why, and texts are escaped), receiptd cannot read the stored submission, or the submission killed its workers (reason crashed).';

CREATE OR REPLACE FUNCTION kinds_of_parked(wanted_bundle text, wanted_reason text)
RETURNS TABLE (bundle_id text, reason text) LANGUAGE sql STABLE ROWS 20 SET enable_seqscan = off AS $$
    WITH RECURSIVE known AS (
        (SELECT bundle_id, reason FROM parked ORDER BY bundle_id, reason LIMIT 1)
        UNION ALL
        SELECT following.*
        FROM known CROSS JOIN LATERAL (
            SELECT bundle_id, reason FROM parked WHERE (bundle_id, reason) > (known.bundle_id, known.reason)
            ORDER BY bundle_id, reason LIMIT 1) AS following
    )
    SELECT * FROM known
    WHERE (wanted_bundle IS NULL OR bundle_id = wanted_bundle) AND (wanted_reason IS NULL OR reason = wanted_reason)
$$;
COMMENT ON FUNCTION kinds_of_parked IS 'Returns each pair of app and reason that has parked submissions, of one app, one reason, or any (null).';

CREATE TABLE IF NOT EXISTS parked_submissions (
    id uuid NOT NULL PRIMARY KEY REFERENCES parked ON DELETE CASCADE,
    content bytea NOT NULL CHECK (octet_length(content) = 32),
    traceparent text COLLATE "C", submission bytea NOT NULL
);
COMMENT ON TABLE parked_submissions IS 'The data with which a worker tries a parked submission again: the SHA-256 of the record''s value, and the submission as JSON of the submissions topic. This table is apart from parked, which workers read and write far more often.';

CREATE TABLE IF NOT EXISTS parked_weights (
    id uuid NOT NULL PRIMARY KEY REFERENCES parked ON DELETE CASCADE,
    bytes integer NOT NULL CHECK (bytes >= 0)
);
COMMENT ON TABLE parked_weights IS 'The bytes of each parked submission whose proof is not proven. Workers limit the sum of these bytes and read it often. A row is never changed.';

CREATE TABLE IF NOT EXISTS redriven_dead_letters (
    source_topic text COLLATE "C" NOT NULL, source_partition integer NOT NULL, source_offset bigint NOT NULL,
    content bytea NOT NULL CHECK (octet_length(content) = 16), redriven_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_partition, source_offset, source_topic, content)
);
COMMENT ON TABLE redriven_dead_letters IS 'Dead letters that an operator put back on the submissions topic, by their first position there. receiptd puts a letter back a second time only with --again. content is the first half of the SHA-256 of the value.';

CREATE TABLE IF NOT EXISTS apple_budgets (
    bundle_id text COLLATE "C" NOT NULL, endpoint text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    leased_until timestamptz NOT NULL DEFAULT '-infinity', held_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (bundle_id, endpoint, environment)
) WITH (fillfactor = 50);
COMMENT ON TABLE apple_budgets IS 'The budget of requests to Apple that all replicas share. Replicas lease slices of time one after the other, up to leased_until, and each sends its requests in its slices. Before held_until no replica sends a request, because Apple asked for a pause (Retry-After).';

-- Apple's reports without a submission: refunds, notifications, and announced purchases.

CREATE TABLE IF NOT EXISTS refunds (
    transaction_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    -- Apple's time of the refund; null if Apple reversed it.
    revoked_at timestamptz,
    -- A code of the Swift type Reason; null if Apple reversed the refund.
    reason text COLLATE "C" CHECK (reason IN ('refund', 'revoke')),
    -- Thousandths of a percent; null if Apple did not report it.
    refunded_milli_percent integer,
    -- When Apple signed its newest statement about the refund.
    signed_at timestamptz NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    period_id text COLLATE "C", earlier_parts text COLLATE "C",
    CONSTRAINT refunds_have_a_reason CHECK ((revoked_at IS NULL) = (reason IS NULL)),
    PRIMARY KEY (transaction_id, bundle_id, environment)
);
CREATE INDEX IF NOT EXISTS refunds_periods ON refunds (period_id) WHERE period_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS refunds_originals ON refunds (original_transaction_id);
CREATE INDEX IF NOT EXISTS refunds_noted ON refunds (noted_at);
COMMENT ON TABLE refunds IS 'Apple''s newest report about each transaction that Apple ever took back, whether receiptd granted it or not. A transaction that was refunded before its grant must not be granted later. Never deleted.';
COMMENT ON COLUMN refunds.period_id IS 'The id in claims of the period that was taken back. All rows of one period have the same refund. Null if the transaction pays for no period, or if only a version before 10 stored the refund.';
COMMENT ON COLUMN refunds.earlier_parts IS 'Apple''s reports about the transaction''s refunds as JSON, the oldest first. A report has its time (in milliseconds since 1970), whether it is a reversal, whether it came in a notification, and the refunded total (share in thousandths of a percent, at, reason). The refund in force follows from all reports. Null if the other columns have the only report. An earlier version wrote pairs instead: a smaller total that was taken back before revoked_at, and its time.';

CREATE TABLE IF NOT EXISTS refund_notices (
    notification_id text COLLATE "C" NOT NULL PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, environment text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL, effect text COLLATE "C" NOT NULL,
    signed_at timestamptz NOT NULL, taken_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS refund_notices_transactions ON refund_notices (transaction_id);
COMMENT ON TABLE refund_notices IS 'Apple''s notifications of refunds and reversals that receiptd has processed, by Apple''s id. If a notification comes again, it changes nothing, even if others came in between. Never deleted.';

CREATE TABLE IF NOT EXISTS notifications (
    notification_id text COLLATE "C" NOT NULL PRIMARY KEY,
    type text COLLATE "C" NOT NULL, subtype text COLLATE "C",
    bundle_id text COLLATE "C", environment text COLLATE "C", transaction_id text COLLATE "C",
    -- How the notification first reached receiptd.
    source text COLLATE "C" NOT NULL CHECK (source IN ('notification', 'history')),
    effect text COLLATE "C" NOT NULL,
    signed_at timestamptz NOT NULL, taken_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date
);
CREATE INDEX IF NOT EXISTS notifications_days ON notifications (taken_on);
CREATE INDEX IF NOT EXISTS notifications_transactions ON notifications (transaction_id) WHERE transaction_id IS NOT NULL;
COMMENT ON TABLE notifications IS 'Apple''s notifications that receiptd has processed, by Apple''s id, from Kafka or from Apple''s notification history. If a notification comes again, it changes nothing. Deleted after 200 days; refund_notices keeps the notifications of refunds for ever.';

CREATE TABLE IF NOT EXISTS notification_history (
    bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    taken_until timestamptz,
    leased_until timestamptz NOT NULL DEFAULT '-infinity', due_at timestamptz NOT NULL DEFAULT '-infinity',
    -- Leases since a worker last stored a page. Released leases do not count.
    starts integer NOT NULL DEFAULT 0,
    -- The SHA-256 of notifications' UUIDs. suspect is in isolation now. culprit is the last suspect that killed the
    -- process, and culprit_deaths says how often. Each one in set_aside killed the process three times, and is a dead
    -- letter.
    suspect bytea CHECK (octet_length(suspect) = 32),
    culprit bytea CHECK (octet_length(culprit) = 32), culprit_deaths integer NOT NULL DEFAULT 0,
    set_aside bytea[] NOT NULL DEFAULT '{}',
    -- The window that is partly read, and Apple's token of its next page.
    page_from timestamptz, page_to timestamptz, page_token text COLLATE "C",
    PRIMARY KEY (bundle_id, environment)
);
COMMENT ON TABLE notification_history IS 'How far receiptd has read Apple''s notification history of each app. receiptd has stored what Apple tried to send before taken_until. The worker that reads the history leases the row. If a notification kills the process again and again, a worker takes one notification at a time to find it.';

CREATE TABLE IF NOT EXISTS announced_purchases (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY, original_transaction_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    source text COLLATE "C" NOT NULL CHECK (source IN ('notification', 'history', 'renewal')),
    submission_id text COLLATE "C" NOT NULL,
    -- The hash of the signed account token, kept no longer than the evidence.
    token bytea CHECK (octet_length(token) = 32),
    -- Whether it is a further period of its subscription, or the first period of a subscription that continues another.
    is_renewal boolean NOT NULL, previous_original_transaction_id text COLLATE "C",
    purchased_at timestamptz NOT NULL, expires_at timestamptz, grace_expires_at timestamptz,
    -- When Apple signed the purchase, or answered with it. Expiry is judged by this time.
    signed_at timestamptz NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    -- Apple's description of it, as JSON. Kept while it may still be needed, and at most 180 days.
    evidence bytea,
    state text COLLATE "C" NOT NULL
        CHECK (state IN ('waiting', 'claimed', 'granted', 'held', 'refused', 'unclaimed', 'ignored')),
    -- In the state unclaimed, reason is a code of the Swift type UnclaimedReason. In other states, reason is a code of
    -- Reason, player_erased, or null.
    reason text COLLATE "C", player_id text COLLATE "C",
    catalog_version bigint NOT NULL DEFAULT 0,
    -- If awaits_submission, the time since which the purchase waits. Otherwise the time at which a worker must deliver
    -- it.
    due_at timestamptz, awaits_submission boolean NOT NULL DEFAULT false, leased_until timestamptz,
    -- How many deliveries ended in a hold. The ids of held and rejected events contain the number of earlier holds, so
    -- that each hold has events of its own.
    times_held integer NOT NULL DEFAULT 0 CHECK (times_held >= 0),
    decided_at timestamptz,
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0), is_alone boolean NOT NULL DEFAULT false,
    deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0),
    period_id text COLLATE "C",
    CONSTRAINT announced_purchases_wait_with_a_time CHECK ((state = 'waiting') = (due_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS announced_purchases_periods ON announced_purchases (period_id) WHERE period_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS announced_purchases_suspects ON announced_purchases (due_at) WHERE takes >= 3;
CREATE INDEX IF NOT EXISTS announced_purchases_due ON announced_purchases (due_at)
    WHERE state = 'waiting' AND NOT awaits_submission;
CREATE INDEX IF NOT EXISTS announced_purchases_patient ON announced_purchases (due_at)
    WHERE state = 'waiting' AND awaits_submission;
CREATE INDEX IF NOT EXISTS announced_purchases_outdated ON announced_purchases (catalog_version)
    WHERE state IN ('unclaimed', 'ignored') AND evidence IS NOT NULL;
-- To end the wait of these rows after a grant or a hold, which shows their owner.
CREATE INDEX IF NOT EXISTS announced_purchases_open ON announced_purchases (original_transaction_id, transaction_id)
    WHERE state IN ('waiting', 'unclaimed', 'ignored');
CREATE INDEX IF NOT EXISTS announced_purchases_following ON announced_purchases (previous_original_transaction_id)
    WHERE state IN ('waiting', 'unclaimed', 'ignored') AND previous_original_transaction_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS announced_purchases_tokens ON announced_purchases (token, bundle_id) WHERE token IS NOT NULL;
CREATE INDEX IF NOT EXISTS announced_purchases_taken_back ON announced_purchases (decided_at)
    WHERE state = 'refused' AND reason IN ('cancelled', 'upgraded');
-- For `receiptd unclaimed`, oldest first.
CREATE INDEX IF NOT EXISTS announced_purchases_unclaimed ON announced_purchases (stored_at, transaction_id)
    WHERE state = 'unclaimed';
-- Maintenance deletes the oldest rows if there are too many.
CREATE INDEX IF NOT EXISTS announced_purchases_unknown_apps ON announced_purchases (stored_at)
    WHERE state = 'unclaimed' AND reason = 'unknown_app';
CREATE INDEX IF NOT EXISTS announced_purchases_evidence ON announced_purchases (stored_at)
    WHERE (evidence IS NOT NULL OR token IS NOT NULL) AND state <> 'waiting';
CREATE INDEX IF NOT EXISTS announced_purchases_originals ON announced_purchases (original_transaction_id)
    WHERE original_transaction_id <> transaction_id;
CREATE INDEX IF NOT EXISTS announced_purchases_names ON announced_purchases (submission_id);
CREATE INDEX IF NOT EXISTS announced_purchases_players ON announced_purchases (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE announced_purchases IS 'One row for each purchase that Apple itself reported. A writer first locks the claim of the original transaction, except to lease a row, or to make rows due because the player of a token or the owner of a continued subscription became known. The states are: waiting, for its submission or its delivery; claimed, after a submission or another system brought it; granted, held or refused, after its delivery; unclaimed, if nobody gets it; ignored, if nobody gets it and the catalog says not to list missed purchases. An unclaimed purchase with the reason crashed killed its workers, and only an operator makes it due again. If a hold ends without a grant, its purchase waits again. Rows are never deleted, except the oldest unclaimed purchases of apps that the catalog lacks, if there are too many.';
COMMENT ON COLUMN announced_purchases.submission_id IS 'The id in place of a game server''s submission id: "apple-" and the id of the notification or of the transaction.';
COMMENT ON COLUMN announced_purchases.period_id IS 'As in grants.';

CREATE TABLE IF NOT EXISTS player_accounts (
    bundle_id text COLLATE "C" NOT NULL, token bytea NOT NULL CHECK (octet_length(token) = 32),
    -- Null if a record of the game server deleted the token's player.
    player_id text COLLATE "C",
    source_partition integer NOT NULL, source_offset bigint NOT NULL, source_timestamp timestamptz NOT NULL,
    PRIMARY KEY (bundle_id, token)
);
CREATE INDEX IF NOT EXISTS player_accounts_players ON player_accounts (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE player_accounts IS 'The player of each account token, by the token''s newest record on the topic player-accounts.';

CREATE TABLE IF NOT EXISTS missed_purchase_grants (bundle_id text COLLATE "C" NOT NULL PRIMARY KEY, since timestamptz NOT NULL);
COMMENT ON TABLE missed_purchase_grants IS 'When each app''s catalog first said that missed purchases are granted. Purchases from before that time are only listed.';

CREATE OR REPLACE FUNCTION end_wait_by_outside_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE announced_purchases
    SET state = 'claimed', player_id = NEW.player_id, reason = NULL, due_at = NULL, leased_until = NULL,
        evidence = NULL, token = NULL, decided_at = now(), takes = 0, is_alone = false, deaths_alone = 0
    WHERE transaction_id = NEW.transaction_id
        AND (state IN ('waiting', 'unclaimed', 'ignored') OR state IN ('claimed', 'held') AND evidence IS NOT NULL);
    UPDATE announced_purchases
    SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
        is_alone = false, deaths_alone = 0
    WHERE (original_transaction_id = coalesce(NEW.original_transaction_id, NEW.transaction_id)
            OR previous_original_transaction_id = coalesce(NEW.original_transaction_id, NEW.transaction_id))
        AND transaction_id <> NEW.transaction_id AND is_renewal AND evidence IS NOT NULL
        AND state IN ('waiting', 'unclaimed', 'ignored') AND reason IS DISTINCT FROM 'crashed';
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION end_wait_by_outside_grant IS 'Ends the wait of an announced purchase when another system or an import inserts its grant. Makes renewals due whose owner the grant shows.';
CREATE OR REPLACE TRIGGER outside_grant_ends_wait AFTER INSERT ON grants
    FOR EACH ROW WHEN (NEW.submission_key IS NULL) EXECUTE FUNCTION end_wait_by_outside_grant();

CREATE OR REPLACE FUNCTION look_again_after_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE announced_purchases
    SET state = 'waiting', reason = NULL, due_at = now(), awaits_submission = false, leased_until = NULL, takes = 0,
        is_alone = false, deaths_alone = 0
    WHERE (transaction_id = NEW.transaction_id OR period_id = NEW.period_id) AND evidence IS NOT NULL
        AND reason IS DISTINCT FROM 'crashed'
        AND (state IN ('unclaimed', 'ignored') OR state = 'refused' AND reason = 'cancelled');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION look_again_after_refund IS 'Makes an announced purchase due when its refund is stored or changes: a refunded purchase is refused, and a reinstated one may be delivered.';
CREATE OR REPLACE TRIGGER refund_of_announced_purchase AFTER INSERT OR UPDATE ON refunds
    FOR EACH ROW EXECUTE FUNCTION look_again_after_refund();

-- Subscriptions.

CREATE TABLE IF NOT EXISTS subscriptions (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    subscription_group_id text COLLATE "C",
    state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'grace_period', 'billing_retry', 'expired', 'revoked')),
    expires_at timestamptz, grace_expires_at timestamptz,
    will_renew boolean, renewal_product_id text COLLATE "C",
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    revision integer NOT NULL CHECK (revision >= 1),
    checked_at timestamptz, updated_at timestamptz NOT NULL,
    -- When Apple reported each part. Older reports change nothing. state_told_at is null while only a transaction has
    -- reported the period.
    period_began_at timestamptz NOT NULL, state_told_at timestamptz, will_renew_told_at timestamptz,
    renewal_product_told_at timestamptz,
    -- Null if no check is due before Apple reports something about the subscription.
    due_at timestamptz, leased_until timestamptz, tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    -- Each lease is longer than the one before it.
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    -- The time from which a worker searches Apple's history for missed periods; null when the history is read to its
    -- end.
    history_since timestamptz,
    -- If Apple reported a period in a way that grants nothing, the start of the last period known before. A worker
    -- requests from Apple the periods from this time on; null when the worker has requested them.
    periods_since timestamptz
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX IF NOT EXISTS subscriptions_due ON subscriptions (bundle_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS subscriptions_players ON subscriptions (player_id);
CREATE INDEX IF NOT EXISTS subscriptions_kinds
    ON subscriptions (bundle_id, state, updated_at DESC, original_transaction_id);
COMMENT ON TABLE subscriptions IS 'The state of each auto-renewable subscription, as Apple last reported it. The app follows renewals, and something is granted under the subscription or under the subscription that it continues. A writer locks the claim first. The columns up to updated_at are for outside readers.';

CREATE OR REPLACE FUNCTION kinds_of_subscriptions(wanted_bundle text, wanted_state text)
RETURNS TABLE (bundle_id text, state text) LANGUAGE sql STABLE ROWS 20 SET enable_seqscan = off AS $$
    WITH RECURSIVE known AS (
        (SELECT bundle_id, state FROM subscriptions ORDER BY bundle_id, state LIMIT 1)
        UNION ALL
        SELECT following.*
        FROM known CROSS JOIN LATERAL (
            SELECT bundle_id, state FROM subscriptions WHERE (bundle_id, state) > (known.bundle_id, known.state)
            ORDER BY bundle_id, state LIMIT 1) AS following
    )
    SELECT * FROM known
    WHERE (wanted_bundle IS NULL OR bundle_id = wanted_bundle) AND (wanted_state IS NULL OR state = wanted_state)
$$;
COMMENT ON FUNCTION kinds_of_subscriptions IS 'Returns each pair of app and state that has subscriptions, of one app, one state, or any (null).';

CREATE TABLE IF NOT EXISTS unowned_subscriptions (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL, subscription_group_id text COLLATE "C",
    state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'grace_period', 'billing_retry', 'expired', 'revoked')),
    expires_at timestamptz, grace_expires_at timestamptz,
    will_renew boolean, renewal_product_id text COLLATE "C",
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    period_began_at timestamptz NOT NULL, state_told_at timestamptz, will_renew_told_at timestamptz,
    renewal_product_told_at timestamptz
);
CREATE INDEX IF NOT EXISTS unowned_subscriptions_periods ON unowned_subscriptions (period_began_at);
COMMENT ON TABLE unowned_subscriptions IS 'Apple''s facts about subscriptions that no row in subscriptions has: nothing is granted yet, or the app does not follow renewals. The row in subscriptions takes them over when a worker inserts it, or at its next write. A writer locks the claim first. Deleted 400 days after the period began.';

CREATE TABLE IF NOT EXISTS subscription_receipts (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    receipt bytea NOT NULL,
    -- The day on which the subscription ended; null before.
    over_on date
) WITH (toast_tuple_target = 256);
CREATE INDEX IF NOT EXISTS subscription_receipts_days ON subscription_receipts (over_on) WHERE over_on IS NOT NULL;
COMMENT ON TABLE subscription_receipts IS 'The newest receipt, decoded from base64, of each subscription of an app without App Store Server API. A worker sends it to Apple to check the subscription. PostgreSQL compresses it. Deleted 60 days after the subscription ended.';

CREATE TABLE IF NOT EXISTS subscription_transfers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    original_transaction_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL,
    from_player_id text COLLATE "C" NOT NULL, to_player_id text COLLATE "C" NOT NULL,
    operator text COLLATE "C" NOT NULL, note text COLLATE "C", transferred_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS subscription_transfers_givers ON subscription_transfers (from_player_id);
CREATE INDEX IF NOT EXISTS subscription_transfers_takers ON subscription_transfers (to_player_id);
CREATE INDEX IF NOT EXISTS subscription_transfers_originals ON subscription_transfers (original_transaction_id);
COMMENT ON TABLE subscription_transfers IS 'Which operator gave the future periods of which subscription to another player. Never deleted.';

CREATE OR REPLACE FUNCTION is_of_app(wanted_original text, wanted_bundle text, wanted_environment text)
RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM grants
        WHERE transaction_id = wanted_original AND bundle_id = wanted_bundle AND environment = wanted_environment
    ) OR EXISTS (
        SELECT FROM grants
        WHERE original_transaction_id = wanted_original AND original_transaction_id <> transaction_id
            AND bundle_id = wanted_bundle AND environment = wanted_environment
    ) OR EXISTS (
        SELECT FROM holds
        WHERE original_transaction_id = wanted_original AND bundle_id = wanted_bundle AND environment = wanted_environment
    ) OR EXISTS (
        SELECT FROM subscriptions
        WHERE original_transaction_id = wanted_original AND bundle_id = wanted_bundle AND environment = wanted_environment
    )
$$;
COMMENT ON FUNCTION is_of_app IS 'Returns whether anything under an original transaction is granted or held, or has a row in subscriptions, in this app and environment. Only then can another subscription of the app continue it.';

-- Refund requests, and receiptd's reports to Apple about deliveries.

CREATE TABLE IF NOT EXISTS finishes (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY, bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    -- The grant's event. A worker reports to Apple when the outbox no longer has this event.
    event_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Two seconds after the grant, most events are acknowledged. Null when the row has a result.
    due_at timestamptz DEFAULT now() + interval '2 seconds', tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    -- result is a value of the Swift type FinishResult; null while a report is due.
    result text COLLATE "C", ended_on date,
    -- Each lease is longer than the one before it.
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    CONSTRAINT finishes_end_once CHECK ((due_at IS NULL) = (result IS NOT NULL) AND (due_at IS NULL) = (ended_on IS NOT NULL))
) WITH (
    -- As for the outbox, because each row changes a few times and does not stay long.
    vacuum_truncate = false,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX IF NOT EXISTS finishes_due ON finishes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS finishes_ended ON finishes (ended_on) WHERE ended_on IS NOT NULL;
COMMENT ON TABLE finishes IS 'Deliveries that receiptd reports to Apple, for apps whose catalog asks for it. A row is inserted with the grant, or with a later submission of the granted transaction. Deleted 30 days after its end.';

CREATE TABLE IF NOT EXISTS refund_requests (
    notification_id text COLLATE "C" NOT NULL PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL, original_transaction_id text COLLATE "C" NOT NULL,
    -- Null while the transaction is not in the ledger.
    player_id text COLLATE "C",
    bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    kind text COLLATE "C"
        CHECK (kind IN ('consumable', 'non_consumable', 'non_renewing_subscription', 'auto_renewable_subscription')),
    -- Apple's consumptionRequestReason; null if Apple names none. No Swift type lists the values.
    reason text COLLATE "C",
    signed_at timestamptz NOT NULL, answer_by timestamptz NOT NULL, taken_at timestamptz NOT NULL DEFAULT now(),
    -- Null when the request has a result.
    due_at timestamptz DEFAULT now(), tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    -- A value of the Swift type ConsumptionResult; null while the request is open.
    result text COLLATE "C",
    -- The answer that was sent to Apple.
    delivery_status text COLLATE "C", consumption_milli_percent integer, refund_preference text COLLATE "C",
    ended_at timestamptz,
    -- Each lease is longer than the one before it.
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    -- As in grants.
    period_id text COLLATE "C",
    CONSTRAINT refund_requests_end_once
        CHECK ((due_at IS NULL) = (result IS NOT NULL) AND (due_at IS NULL) = (ended_at IS NOT NULL))
);
CREATE INDEX IF NOT EXISTS refund_requests_due ON refund_requests (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS refund_requests_unowned ON refund_requests (due_at) WHERE player_id IS NULL AND due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS refund_requests_transactions ON refund_requests (transaction_id);
CREATE INDEX IF NOT EXISTS refund_requests_players ON refund_requests (player_id);
CREATE INDEX IF NOT EXISTS refund_requests_taken ON refund_requests (taken_at);
COMMENT ON TABLE refund_requests IS 'Refunds that players asked Apple for, by Apple''s notification. If the transaction is not granted, held, refused or parked yet, the request has no player, and a worker looks for one each minute until Apple''s deadline. Deleted after 200 days.';

CREATE TABLE IF NOT EXISTS undelivered (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY, original_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C" NOT NULL, product_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    kind text COLLATE "C"
        CHECK (kind IN ('consumable', 'non_consumable', 'non_renewing_subscription', 'auto_renewable_subscription')),
    -- The end of a subscription's period.
    expires_at timestamptz,
    -- A code of the Swift type Reason, or `parked`. UndeliveredPurchase.reasons lists the codes.
    reason text COLLATE "C" NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS undelivered_players ON undelivered (player_id);
CREATE INDEX IF NOT EXISTS undelivered_decided ON undelivered (decided_at);
COMMENT ON TABLE undelivered IS 'Purchases that Apple vouches for and that the paying player did not get, because the submission is parked or a rule refused the purchase. If no other table has the purchase, receiptd answers Apple''s question about its refund from this row. The first player''s row stays, unless only a later row proves its player to be the buyer. Deleted after 180 days.';

CREATE OR REPLACE FUNCTION refund_owner(
    wanted_transaction text, wanted_original text, wanted_bundle text, wanted_environment text,
    wanted_period text DEFAULT NULL
) RETURNS TABLE (player_id text, kind text) LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT known.player_id, known.kind
    FROM (
        (SELECT 1 AS place, grants.player_id, grants.kind
        FROM grants
        WHERE grants.transaction_id = wanted_transaction AND grants.bundle_id = wanted_bundle
            AND grants.environment = wanted_environment
        LIMIT 1)
        UNION ALL
        (SELECT 2, grants.player_id, grants.kind
        FROM claims JOIN grants ON grants.transaction_id = claims.granted_transaction_id
        WHERE claims.original_transaction_id IN (wanted_original, wanted_period) AND grants.bundle_id = wanted_bundle
            AND grants.environment = wanted_environment
        LIMIT 1)
        UNION ALL
        -- OFFSET 0 keeps the planner from using the index of apps, even if there were few rows when the plan was made.
        (SELECT 3, held.player_id, NULL
        FROM (SELECT * FROM holds WHERE holds.transaction_id = wanted_transaction OFFSET 0) AS held
        WHERE held.bundle_id = wanted_bundle AND held.environment = wanted_environment
        ORDER BY held.reason = 'ownership_disputed', held.held_at, held.player_id
        LIMIT 1)
        UNION ALL
        (SELECT 3, held.player_id, NULL
        FROM claims
        JOIN holds AS held ON held.transaction_id = claims.granted_transaction_id
        WHERE claims.original_transaction_id = wanted_period AND held.bundle_id = wanted_bundle
            AND held.environment = wanted_environment AND held.reason <> 'ownership_disputed'
        LIMIT 1)
        UNION ALL
        (SELECT 4, told.player_id, NULL
        FROM (SELECT * FROM announced_purchases AS known WHERE known.transaction_id = wanted_transaction OFFSET 0) AS told
        WHERE told.bundle_id = wanted_bundle AND told.environment = wanted_environment AND told.player_id IS NOT NULL
        LIMIT 1)
        UNION ALL
        (SELECT 5, refusals.player_id, NULL
        FROM refusals WHERE refusals.transaction_id = wanted_transaction ORDER BY refusals.refused_at DESC LIMIT 1)
        UNION ALL
        (SELECT 6, missed.player_id, missed.kind
        FROM (SELECT * FROM undelivered AS known WHERE known.transaction_id = wanted_transaction OFFSET 0) AS missed
        WHERE missed.bundle_id = wanted_bundle AND missed.environment = wanted_environment
        LIMIT 1)
    ) AS known
    ORDER BY known.place
    LIMIT 1
$$;
COMMENT ON FUNCTION refund_owner IS 'Returns the player of a transaction whose refund is requested, and the product''s type if it is known. The transaction is granted, held, refused or parked, or it waits for its delivery. Or it is a non-consumable or a period that is granted or held under another id. Returns no row if there is no such player. Workers before version 11 call it without a period.';

CREATE TABLE IF NOT EXISTS consumption_reports (
    bundle_id text COLLATE "C" NOT NULL, transaction_id text COLLATE "C" NOT NULL,
    consumption_milli_percent integer CHECK (consumption_milli_percent BETWEEN 0 AND 100000),
    refund_preference text COLLATE "C" CHECK (refund_preference IN ('decline', 'grant_full', 'grant_prorated')),
    is_consented boolean,
    told_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (transaction_id, bundle_id)
);
CREATE INDEX IF NOT EXISTS consumption_reports_told ON consumption_reports (told_at);
COMMENT ON TABLE consumption_reports IS 'The game server''s last report about each transaction, for Apple''s question about its refund. A column is null if the report left it out. Deleted after 30 days.';

-- Operators.

CREATE TABLE IF NOT EXISTS erasures (
    -- The pseudonym is longer than a player's id may be, so nobody can submit it.
    pseudonym text COLLATE "C" NOT NULL PRIMARY KEY, player_id text COLLATE "C" UNIQUE,
    operator text COLLATE "C" NOT NULL, begun_at timestamptz NOT NULL DEFAULT now(), done_at timestamptz,
    CONSTRAINT erasures_forget_whom CHECK ((player_id IS NULL) = (done_at IS NOT NULL))
);
COMMENT ON TABLE erasures IS 'Erased players. player_id names the player until the erasure is done, so that an interrupted erasure continues under the same pseudonym.';

CREATE TABLE IF NOT EXISTS traffic_minutes (
    began_at timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('class', 'outcome', 'dead_letter', 'apple', 'apple_seconds')),
    name text COLLATE "C" NOT NULL, count bigint NOT NULL CHECK (count > 0),
    PRIMARY KEY (began_at, kind, name)
) WITH (fillfactor = 80);
COMMENT ON TABLE traffic_minutes IS 'The counts of all workers in each minute, for charts: submissions by class, events by type and reason, dead letters, Apple''s answers, and Apple''s answers by their time in seconds. A worker that dies loses the counts of its last minute. Deleted after two days.';

CREATE TABLE IF NOT EXISTS traffic_hours (
    began_at timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('class', 'outcome', 'dead_letter', 'apple', 'apple_seconds')),
    name text COLLATE "C" NOT NULL, count bigint NOT NULL CHECK (count > 0),
    PRIMARY KEY (began_at, kind, name)
) WITH (fillfactor = 80);
COMMENT ON TABLE traffic_hours IS 'The counts of traffic_minutes by hour. Deleted after 90 days.';

CREATE TABLE IF NOT EXISTS incidents (
    kind text COLLATE "C" NOT NULL,
    -- For example a topic's partition and its offsets; empty if the kind says everything.
    subject text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    first_at timestamptz NOT NULL DEFAULT now(), last_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, subject)
);
COMMENT ON TABLE incidents IS 'Incidents for alerts, which an operator must see even after the process has ended: records that Kafka deleted unread, a database that fell back, work that killed workers. Deleted after 90 days.';

CREATE TABLE IF NOT EXISTS local_refusals (
    event_id uuid NOT NULL PRIMARY KEY,
    submission_id text COLLATE "C" NOT NULL, player_id text COLLATE "C" NOT NULL, bundle_id text COLLATE "C",
    -- reason is a code of the Swift type Reason. For a dead letter whose sender is unknown, reason is a code of
    -- DeadLetter.Reason.
    reason text COLLATE "C" NOT NULL, detail_code text COLLATE "C" NOT NULL, detail text COLLATE "C" NOT NULL,
    occurred_at timestamptz NOT NULL, kept_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS local_refusals_submissions ON local_refusals (submission_id);
CREATE INDEX IF NOT EXISTS local_refusals_players ON local_refusals (player_id);
CREATE INDEX IF NOT EXISTS local_refusals_kept ON local_refusals (kept_at);
COMMENT ON TABLE local_refusals IS 'A sample of the rejections that workers decided without Apple and that no other table has: at most 200 a minute from each worker, stored once a minute. For people who look up a submission or a player. Deleted after three days.';

CREATE TABLE IF NOT EXISTS console_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator text COLLATE "C" NOT NULL, change text COLLATE "C" NOT NULL,
    -- The id of a transaction or submission, or the filter.
    subject text COLLATE "C" NOT NULL,
    note text COLLATE "C",
    -- How many rows the operator saw before the change.
    shown bigint NOT NULL CHECK (shown >= 0),
    began_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz, result text COLLATE "C",
    CONSTRAINT console_changes_end_with_result CHECK ((ended_at IS NULL) = (result IS NULL))
);
-- For `receiptd players erase`. A filter may be longer than a B-tree's entry.
CREATE INDEX IF NOT EXISTS console_changes_subjects ON console_changes USING hash (subject);
COMMENT ON TABLE console_changes IS 'Which operator changed what with the console, or by a command about parked submissions, unclaimed purchases or dead letters. A row is inserted before the change begins, and gets its result at the end. Never deleted.';

INSERT INTO schema_version (version) VALUES (12) ON CONFLICT DO NOTHING;
