-- receiptd's database, all of it. Idempotent: `receiptd migrate` applies it in one transaction, any number of times.
-- PostgreSQL 14 or later. Keys collate as bytes ("C"): identifiers compare so in Kafka, in the daemon and here.

CREATE TABLE IF NOT EXISTS schema_version (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version integer NOT NULL CHECK (version >= 1),
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE schema_version IS 'One row: the highest version of this file that was ever applied.';

CREATE TABLE IF NOT EXISTS grants (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    original_transaction_id text COLLATE "C",
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    quantity integer NOT NULL CHECK (quantity >= 1),
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    purchased_at timestamptz,
    submission_id text COLLATE "C" NOT NULL,
    granted_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- Null where another system granted: bundle, player, submission and proof in one.
    submission_key uuid,
    kind text COLLATE "C" CHECK (
        kind IN ('consumable', 'non_consumable', 'non_renewing_subscription', 'auto_renewable_subscription')),
    expires_at timestamptz,
    revision integer NOT NULL DEFAULT 1 CHECK (revision >= 1),
    -- The granted event as it was first made: published again, it is these bytes.
    event bytea,
    catalog_version bigint,
    CONSTRAINT grants_event_belongs_to_a_submission CHECK ((event IS NULL) = (submission_key IS NULL))
);
-- Since version 2. Null where it is not known: an earlier version's, or another system's.
ALTER TABLE grants ADD COLUMN IF NOT EXISTS is_bound boolean;
COMMENT ON COLUMN grants.is_bound IS 'The submission that won it had the transaction''s appAccountToken.';
-- Since version 3. Null where Apple did not tell it.
ALTER TABLE grants ADD COLUMN IF NOT EXISTS app_transaction_id text COLLATE "C";
COMMENT ON COLUMN grants.app_transaction_id IS 'Apple''s number of the Apple account that bought it, in this app.';
-- Since version 10. No index: the row of claims decides.
ALTER TABLE grants ADD COLUMN IF NOT EXISTS period_id text COLLATE "C";
COMMENT ON COLUMN grants.period_id IS
    'The claim of the period that it pays for; null for what is no period of an auto-renewable subscription, and where an earlier version or another system granted.';
-- The accounts that bought for a player.
CREATE INDEX IF NOT EXISTS grants_accounts ON grants (player_id, bundle_id, app_transaction_id)
    WHERE app_transaction_id IS NOT NULL;
-- A player's purchases, of a day for daily limits or all of them.
CREATE INDEX IF NOT EXISTS grants_players ON grants (player_id, purchased_at);
-- What lies under another's original transaction: renewals and restores. Consumables are not in it.
CREATE INDEX IF NOT EXISTS grants_originals ON grants (original_transaction_id)
    WHERE original_transaction_id <> transaction_id;
-- Since version 10. What was granted in the last days, where an event or an order is looked for: by blocks, for the table is in that
-- order but for little, and a row costs hardly anything.
CREATE INDEX IF NOT EXISTS grants_days ON grants USING brin (granted_at) WITH (autosummarize = on);
COMMENT ON TABLE grants IS
    'One row for each transaction ever granted, never deleted. The columns up to revoked_at are for outside readers.';

CREATE TABLE IF NOT EXISTS claims (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    player_id text COLLATE "C",
    bundle_id text COLLATE "C" NOT NULL,
    granted_transaction_id text COLLATE "C",
    claimed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT claims_freed_holds_no_grant CHECK (player_id IS NOT NULL OR granted_transaction_id IS NULL)
);
COMMENT ON TABLE claims IS
    'One row for each original transaction under which anything was granted, held or refunded: inserted or locked, ids sorted, before anything under it changes. player_id is null once a refused hold has freed it, and where only a refund made it; granted_transaction_id is the non-consumable granted under it. So it is with each period of an auto-renewable subscription, whatever transactions and originals tell of it: its id begins with "period ", and granted_transaction_id is the transaction by which it is granted, revoked since or not, or held.';

-- A grant that another system writes claims its original transaction like one of ours.
CREATE OR REPLACE FUNCTION claim_for_outside_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id, claimed_at)
    VALUES (coalesce(NEW.original_transaction_id, NEW.transaction_id), NEW.player_id, NEW.bundle_id,
            NEW.transaction_id, NEW.granted_at)
    -- Nobody's: a hold was refused, or Apple took something back before it was granted.
    ON CONFLICT (original_transaction_id) DO UPDATE
    SET player_id = excluded.player_id, granted_transaction_id = excluded.granted_transaction_id
    WHERE claims.player_id IS NULL;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER outside_grant_claims AFTER INSERT ON grants
    FOR EACH ROW WHEN (NEW.submission_key IS NULL) EXECUTE FUNCTION claim_for_outside_grant();

CREATE TABLE IF NOT EXISTS holds (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    original_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    submission_key uuid NOT NULL,
    submission_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    quantity integer NOT NULL CHECK (quantity >= 1),
    purchased_at timestamptz NOT NULL,
    expires_at timestamptz,
    catalog_version bigint NOT NULL,
    held_at timestamptz NOT NULL,
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    -- The record's own time, by which expiry is judged whenever the hold ends.
    source_timestamp timestamptz NOT NULL,
    -- Never set: version 1 reads it. Refusals have a table of their own.
    refused_at timestamptz
);
-- Since version 2.
ALTER TABLE holds
    ADD COLUMN IF NOT EXISTS traceparent text COLLATE "C",
    -- What Apple said of the transaction, as JSON: whether another catalog may end the hold is seen without asking.
    ADD COLUMN IF NOT EXISTS evidence bytea,
    -- Reasons that operators have let pass for it.
    ADD COLUMN IF NOT EXISTS waived text[] COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS released_at timestamptz,
    -- Null where only an operator or a new catalog gives cause for a try.
    ADD COLUMN IF NOT EXISTS due_at timestamptz,
    ADD COLUMN IF NOT EXISTS tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    ADD COLUMN IF NOT EXISTS leased_until timestamptz,
    ADD COLUMN IF NOT EXISTS note text COLLATE "C";
-- Since version 4: the signals of the event that told of it, for the grant that ends it.
ALTER TABLE holds ADD COLUMN IF NOT EXISTS risk text[] COLLATE "C" NOT NULL DEFAULT '{}';
-- Since version 10.
ALTER TABLE holds ADD COLUMN IF NOT EXISTS period_id text COLLATE "C";
COMMENT ON COLUMN holds.period_id IS 'As of grants.';
CREATE INDEX IF NOT EXISTS holds_due ON holds (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS holds_outdated ON holds (catalog_version) WHERE due_at IS NULL;
CREATE INDEX IF NOT EXISTS holds_originals ON holds (original_transaction_id);
CREATE INDEX IF NOT EXISTS holds_submissions ON holds (submission_key);
CREATE INDEX IF NOT EXISTS holds_players ON holds (player_id);
-- Since version 4. For `receiptd inspect`, here and below.
CREATE INDEX IF NOT EXISTS holds_names ON holds (submission_id);
-- Since version 5. For `receiptd holds`, by app, reason or both, oldest first.
CREATE INDEX IF NOT EXISTS holds_kinds ON holds (bundle_id, reason, held_at, transaction_id);
COMMENT ON TABLE holds IS
    'One row for each transaction that waits for an operator or another catalog. It goes with the transaction that grants or rejects. catalog_version is the one that last decided it; a replica with a newer one decides again. Whoever works on one has it leased; an operator''s command ends the lease.';

CREATE OR REPLACE FUNCTION kinds_of_holds(
    wanted_bundle text, wanted_reason text
) RETURNS TABLE (bundle_id text, reason text) LANGUAGE plpgsql STABLE ROWS 20 SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    -- From one to the next, one look into the index each.
    RETURN QUERY
    WITH RECURSIVE known AS (
        (SELECT bundle_id, reason FROM holds ORDER BY bundle_id, reason LIMIT 1)
        UNION ALL
        SELECT following.bundle_id, following.reason
        FROM known
        CROSS JOIN LATERAL (
            SELECT bundle_id, reason
            FROM holds
            WHERE (bundle_id, reason) > (known.bundle_id, known.reason)
            ORDER BY bundle_id, reason
            LIMIT 1
        ) AS following
    )
    SELECT known.bundle_id, known.reason
    FROM known
    WHERE (wanted_bundle IS NULL OR known.bundle_id = wanted_bundle)
        AND (wanted_reason IS NULL OR known.reason = wanted_reason);
END
$$;
COMMENT ON FUNCTION kinds_of_holds IS
    'Of which apps and for which reasons there are rows: of one app or reason, or of any (null).';

CREATE TABLE IF NOT EXISTS held_submissions (
    submission_key uuid NOT NULL PRIMARY KEY,
    submission bytea NOT NULL
);
COMMENT ON TABLE held_submissions IS
    'The submissions behind holds, as JSON of the submissions topic: what it takes to ask Apple again. A row goes with the last hold of its submission.';

CREATE TABLE IF NOT EXISTS refusals (
    transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (transaction_id, player_id)
);
CREATE INDEX IF NOT EXISTS refusals_players ON refusals (player_id);
COMMENT ON TABLE refusals IS
    'Transactions that an operator refused a player: remembered, whoever holds or gets the transaction later. Never deleted.';

CREATE TABLE IF NOT EXISTS hold_decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    submission_id text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    decision text COLLATE "C" NOT NULL CHECK (decision IN ('release', 'reject')),
    operator text COLLATE "C" NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT now()
);
-- Since version 10.
ALTER TABLE hold_decisions ADD COLUMN IF NOT EXISTS event_id uuid;
COMMENT ON COLUMN hold_decisions.event_id IS 'The event that told of a rejection; null where an earlier version wrote it.';
CREATE INDEX IF NOT EXISTS hold_decisions_transactions ON hold_decisions (transaction_id);
CREATE INDEX IF NOT EXISTS hold_decisions_players ON hold_decisions (player_id);
CREATE INDEX IF NOT EXISTS hold_decisions_names ON hold_decisions (submission_id);
COMMENT ON TABLE hold_decisions IS
    'Who released or refused which held transaction, and what it was held for. Never deleted.';

-- Since version 2.
CREATE TABLE IF NOT EXISTS device_sightings (
    bundle_id text COLLATE "C" NOT NULL,
    device_id text COLLATE "C" NOT NULL,
    day date NOT NULL,
    player_id text COLLATE "C" NOT NULL
);
-- Since version 10 without a key: of two batches at once both enter a sighting, and neither waits for the other. Its rows are
-- deleted, for which logical replication asks what tells them apart. There is no index of days, which each sighting would
-- pay for: what is old is found by reading the table, an eighth of it a day.
ALTER TABLE device_sightings DROP CONSTRAINT IF EXISTS device_sightings_pkey, REPLICA IDENTITY FULL;
DROP INDEX IF EXISTS device_sightings_day, device_sightings_days;
-- All that a look names by its value comes before the day: with less the planner sorts every row of a device to find the newest.
CREATE INDEX IF NOT EXISTS device_sightings_devices ON device_sightings (device_id, bundle_id, day);
COMMENT ON TABLE device_sightings IS
    'Which players submitted from which device on which UTC day, for the shared_device signal. Read for 30 days, and deleted within eight more.';

-- Since version 3.
CREATE TABLE IF NOT EXISTS replays (
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    day date NOT NULL,
    submissions integer NOT NULL CHECK (submissions >= 1),
    latest_at timestamptz NOT NULL,
    PRIMARY KEY (player_id, bundle_id, day)
);
DROP INDEX IF EXISTS replays_day;
CREATE INDEX IF NOT EXISTS replays_days ON replays (day);
COMMENT ON TABLE replays IS
    'How many submissions of a player were for purchases that another player owns, by UTC day of the decision. Forgotten after 30 days.';

-- Since version 4.
CREATE TABLE IF NOT EXISTS account_tokens (
    bundle_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the token in lower case: tokens themselves are kept nowhere here.
    token bytea NOT NULL CHECK (octet_length(token) = 32),
    player_id text COLLATE "C",
    learnt_at timestamptz,
    PRIMARY KEY (bundle_id, token)
);
CREATE INDEX IF NOT EXISTS account_tokens_players ON account_tokens (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE account_tokens IS
    'Account tokens that were on both sides of a transaction which was granted or held, with the player of the first grant. A row is locked before anything is learnt of its token.';

CREATE TABLE IF NOT EXISTS account_token_senders (
    bundle_id text COLLATE "C" NOT NULL,
    token bytea NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (bundle_id, token, player_id)
);
CREATE INDEX IF NOT EXISTS account_token_senders_players ON account_token_senders (player_id);
COMMENT ON TABLE account_token_senders IS
    'Who sent each account token with a transaction that has it and was granted or held. At the sixth the token is a constant of the client''s, names nobody, and no more are entered.';

CREATE TABLE IF NOT EXISTS account_token_accounts (
    bundle_id text COLLATE "C" NOT NULL,
    token bytea NOT NULL,
    app_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (bundle_id, token, app_transaction_id)
);
CREATE INDEX IF NOT EXISTS account_token_accounts_players ON account_token_accounts (player_id);
COMMENT ON TABLE account_token_accounts IS
    'By which Apple accounts (appTransactionId) purchases with an account token were bought, with the player who was granted the first one of each. Six of a token at most. The row of account_tokens is locked before one is entered.';

-- Look-ups of the hot path as functions, for their setting: a plan made while a table was small must not scan it once
-- it has grown.
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
COMMENT ON FUNCTION count_grants_of_days IS
    'How many grants of which anything is left there are of each player, app, product (null: any) and UTC day of purchase, up to a number.';

CREATE OR REPLACE FUNCTION players_of_devices(
    bundles text[], devices text[], since date[], most bigint
) RETURNS TABLE (number bigint, players text[]) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT wanted.number, ARRAY(
        SELECT DISTINCT known.player_id
        FROM device_sightings AS known
        WHERE known.bundle_id = wanted.bundle_id AND known.device_id = wanted.device_id AND known.day >= wanted.since
        LIMIT most)
    FROM unnest(bundles, devices, since) WITH ORDINALITY AS wanted (bundle_id, device_id, since, number)
    WHERE wanted.device_id IS NOT NULL;
END
$$;
COMMENT ON FUNCTION players_of_devices IS
    'Which players were seen on each device since a day, up to a number. Workers before version 9 call it.';

-- Since version 3.
CREATE OR REPLACE FUNCTION accounts_of_players(
    bundles text[], players text[], most bigint
) RETURNS TABLE (number bigint, accounts text[]) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    -- From one account to the next, one look into the index each: not through all of a player's purchases. Null where
    -- there is none, as for most.
    RETURN QUERY
    SELECT wanted.number, CASE WHEN first.account IS NOT NULL THEN ARRAY(
        WITH RECURSIVE known AS (
            SELECT first.account
            UNION ALL
            SELECT (
                SELECT app_transaction_id
                FROM grants
                WHERE player_id = wanted.player_id AND bundle_id = wanted.bundle_id
                    AND app_transaction_id > known.account
                ORDER BY app_transaction_id
                LIMIT 1)
            FROM known
            WHERE known.account IS NOT NULL
        )
        SELECT account FROM known WHERE account IS NOT NULL LIMIT most) END
    FROM unnest(bundles, players) WITH ORDINALITY AS wanted (bundle_id, player_id, number)
    LEFT JOIN LATERAL (
        SELECT app_transaction_id AS account
        FROM grants
        WHERE player_id = wanted.player_id AND bundle_id = wanted.bundle_id AND app_transaction_id IS NOT NULL
        ORDER BY app_transaction_id
        LIMIT 1
    ) AS first ON true;
END
$$;
COMMENT ON FUNCTION accounts_of_players IS
    'By which Apple accounts each player''s purchases in an app were made, up to a number. Workers before version 9 call it.';

CREATE OR REPLACE FUNCTION replays_before(
    players text[], bundles text[], days date[]
) RETURNS TABLE (number bigint, submissions bigint) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
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
COMMENT ON FUNCTION replays_before IS
    'How many replays of others'' purchases each player sent in the 29 days before a day.';

CREATE TABLE IF NOT EXISTS outcomes (
    day date NOT NULL,
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    content bytea NOT NULL CHECK (octet_length(content) = 16),
    submission_key uuid NOT NULL,
    submission_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    proof bytea NOT NULL CHECK (octet_length(proof) = 32),
    granted_transaction_ids text[] COLLATE "C" NOT NULL,
    answer bytea,
    decided_at timestamptz NOT NULL,
    CONSTRAINT outcomes_answer_something CHECK (answer IS NOT NULL OR cardinality(granted_transaction_ids) > 0),
    PRIMARY KEY (day, source_partition, source_offset, source_topic, content)
) PARTITION BY RANGE (day);
-- Since version 3. Null for an earlier version's. Before anything else locks the table: a lock that is raised while another
-- session makes a partition is a deadlock.
ALTER TABLE outcomes ADD COLUMN IF NOT EXISTS story text COLLATE "C";
COMMENT ON COLUMN outcomes.story IS 'What was submitted, whether it was proven here, and the last tries at Apple, as JSON.';
COMMENT ON TABLE outcomes IS
    'What each record was answered: the grants whose events belong to it in publishing order, then its own event. day is the UTC day of the record''s timestamp, but in outcomes_apart; content is the first half of the SHA-256 of its value, which tells a topic made anew from the one before it. Partitions outcomes_YYYYMMDD are dropped whole.';

CREATE TABLE IF NOT EXISTS outcomes_default PARTITION OF outcomes DEFAULT;
COMMENT ON TABLE outcomes_default IS
    'Records of days that had no partition when they came. Maintenance moves them to outcomes_apart: PostgreSQL reads all that lies here whenever a day is made.';
-- Since version 4. What is pruned, without a walk through the rest.
CREATE INDEX IF NOT EXISTS outcomes_default_decided ON outcomes_default (decided_at);
-- Since version 10.
CREATE TABLE IF NOT EXISTS outcomes_apart PARTITION OF outcomes FOR VALUES FROM ('0001-01-01') TO ('0001-01-02');
CREATE INDEX IF NOT EXISTS outcomes_apart_decided ON outcomes_apart (decided_at);
COMMENT ON TABLE outcomes_apart IS
    'Records of days that get no partition, long ago or ahead of our clock, and what was moved from the default one. Their day is 0001-01-01, whatever their record''s was: who looks for a record looks here too. Pruned by rows.';

-- Since version 4. Partitions are made and dropped with the rights of the tables' owner: a worker need not own them. Each
-- function looks itself whether its caller has the like right on outcomes, and waits for a lock no longer than 0.1 s:
-- whoever waits for an exclusive lock holds up all who come after.
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
    -- One at a time; neither readers nor writers mind.
    LOCK TABLE ONLY outcomes IN SHARE UPDATE EXCLUSIVE MODE;
    IF to_regclass(format('%I.%I', place, child)) IS NOT NULL THEN
        RETURN 'exists';
    END IF;
    -- Attaching reads the whole default partition under its exclusive lock.
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
        -- A row of that day came between.
        EXECUTE format('DROP TABLE %I.%I', place, child);
        RETURN 'default_has_rows';
    END;
    RETURN 'made';
END
$$;
COMMENT ON FUNCTION make_outcomes_day IS
    'Makes the partition of outcomes for a UTC day, for roles that may insert there: made, exists, default_has_rows (the day waits until they are moved) or default_is_large (attaching would read too much of it).';

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
    -- Only what hangs under outcomes is dropped.
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
COMMENT ON FUNCTION drop_outcomes_day IS
    'Drops the partition of outcomes for a UTC day that is over, for roles that may delete there. False where there is none.';

-- Their names are looked up nowhere but beside outcomes, whatever the caller's search_path.
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

-- Since version 4.
CREATE TABLE IF NOT EXISTS maintenance_turns (
    task text COLLATE "C" NOT NULL PRIMARY KEY,
    taken_at timestamptz NOT NULL
);
COMMENT ON TABLE maintenance_turns IS
    'When a replica last took its turn at a task that one of them does for all.';

CREATE TABLE IF NOT EXISTS proofs (
    proof bytea NOT NULL PRIMARY KEY CHECK (octet_length(proof) = 32),
    evidence bytea NOT NULL,
    transaction_ids text[] COLLATE "C" NOT NULL CHECK (cardinality(transaction_ids) > 0),
    seen_on date NOT NULL
);
DROP INDEX IF EXISTS proofs_seen_on;
CREATE INDEX IF NOT EXISTS proofs_days ON proofs (seen_on);
COMMENT ON TABLE proofs IS
    'Apple''s answers by the SHA-256 of the decoded proof, as JSON, where every purchase in them is granted or held: the same proof need not be asked for again. Never those that hold an auto-renewable subscription.';

CREATE TABLE IF NOT EXISTS outbox (
    event_id uuid NOT NULL PRIMARY KEY,
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    -- Orders the events of one transaction, whose created_at is the same.
    ordinal integer NOT NULL,
    record_key text COLLATE "C" NOT NULL,
    traceparent text COLLATE "C",
    transaction_id text COLLATE "C",
    event bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    leased_until timestamptz,
    CONSTRAINT outbox_bytes_stand_in_one_place CHECK ((transaction_id IS NULL) <> (event IS NULL))
) WITH (
    -- Never truncated: a plan made while the table is empty must not scan it once it is full.
    vacuum_truncate = false,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000
);
-- Since version 3. For sweeps: the table keeps the size that it once had, and dead rows are not to be looked through.
CREATE INDEX IF NOT EXISTS outbox_created ON outbox (created_at, ordinal);
COMMENT ON TABLE outbox IS
    'Events that the broker has not acknowledged yet: a row is there until then and no longer. A granted event''s bytes are its grant''s. The daemon publishes from memory; only a sweeper and a partition''s new owner read here.';

CREATE TABLE IF NOT EXISTS partition_progress (
    topic text COLLATE "C" NOT NULL,
    partition integer NOT NULL,
    -- Writers of one replica must not wait for one another's commits.
    writer smallint NOT NULL,
    decided_offset bigint NOT NULL,
    PRIMARY KEY (topic, partition, writer)
) WITH (fillfactor = 50);
COMMENT ON TABLE partition_progress IS
    'An offset in each partition of the submissions topic above which nothing was ever decided: rounded up, so that it is written rarely.';

-- Since version 4.
CREATE OR REPLACE FUNCTION database_history() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    history text := current_setting('receiptd.database_history', true);
    timeline text := 'standby';
BEGIN
    -- A server that may write has the same one until it ends, and its sessions end with it.
    IF history <> '' THEN
        RETURN history;
    END IF;
    IF NOT pg_is_in_recovery() THEN
        BEGIN
            timeline := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
        EXCEPTION WHEN OTHERS THEN
            -- Some services let nobody look at the write-ahead log.
            timeline := 'hidden';
        END;
    END IF;
    -- A data directory that is put back has the timeline and the database of before: but its server was started.
    history := concat_ws('/', timeline, (SELECT oid FROM pg_database WHERE datname = current_database()),
        extract(epoch FROM pg_postmaster_start_time()));
    IF timeline <> 'standby' THEN
        PERFORM set_config('receiptd.database_history', history, false);
    END IF;
    RETURN history;
END
$$;
COMMENT ON FUNCTION database_history IS
    'Tells one life of a database from another, which may have forgotten: a promoted replica has a new timeline, a restored dump is another database, a data directory that was put back is another start of the server.';

CREATE TABLE IF NOT EXISTS durable_offsets (
    topic text COLLATE "C" NOT NULL,
    partition integer NOT NULL,
    next_offset bigint NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, partition)
) WITH (fillfactor = 50);
-- Since version 3. Owners of the partition that left in order: what tells a departure that Kafka refused from a death.
ALTER TABLE durable_offsets ADD COLUMN IF NOT EXISTS departures bigint NOT NULL DEFAULT 0 CHECK (departures >= 0);
COMMENT ON TABLE durable_offsets IS
    'Until version 3 what is offset_checkpoints now, for only one consumer group: read where a partition has no row there.';

-- Since version 4.
CREATE TABLE IF NOT EXISTS offset_checkpoints (
    group_id text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    partition integer NOT NULL,
    next_offset bigint NOT NULL,
    writer bigint NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
    departures bigint NOT NULL DEFAULT 0 CHECK (departures >= 0),
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_id, topic, partition)
) WITH (fillfactor = 50);
COMMENT ON TABLE offset_checkpoints IS
    'For each consumer group and partition the offset before which every record is decided in this database. Written behind the decisions and ahead of Kafka''s commit, only where the row holds what its writer wrote there last: a row that does not was put back with its database, and the partition is read again from the lower of the two offsets.';
COMMENT ON COLUMN offset_checkpoints.writer IS 'A random number of the partition''s owner.';
COMMENT ON COLUMN offset_checkpoints.version IS 'Counts the writes of all owners.';
COMMENT ON COLUMN offset_checkpoints.departures IS
    'Owners that left in order: what tells a departure that Kafka did not hear of from a death.';

-- Since version 9.
CREATE TABLE IF NOT EXISTS offsets_decided_again (
    group_id text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    partition integer NOT NULL,
    below_offset bigint NOT NULL,
    fell_back_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (topic, partition, group_id)
);
ALTER TABLE offsets_decided_again ADD COLUMN IF NOT EXISTS revisions_above integer NOT NULL
    DEFAULT extract(epoch FROM now() - timestamptz '2026-01-01 00:00:00+00')::integer;
CREATE INDEX IF NOT EXISTS offsets_decided_again_times ON offsets_decided_again (fell_back_at);
COMMENT ON COLUMN offsets_decided_again.fell_back_at IS 'The last time.';
COMMENT ON COLUMN offsets_decided_again.revisions_above IS
    'Revisions of grants and subscriptions go on above it: what is lost may have told of some. The seconds since 2026: nothing changes once a second, so that it is above all that was told of before, however often the database was put back.';
COMMENT ON TABLE offsets_decided_again IS
    'Where the database was put back to an earlier state: records before below_offset may have been decided and told of in the state that is lost. What of them is decided again and was refunded meanwhile is granted and revoked at once, for its grant may be in the game.';

-- Since version 10.
CREATE TABLE IF NOT EXISTS database_lives (
    life text COLLATE "C" NOT NULL PRIMARY KEY,
    begun_at timestamptz NOT NULL DEFAULT now(),
    revisions_above integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE database_lives IS
    'The lives of this database that revision_floor has seen. A promoted replica and a backup that was recovered have another life than their row here, and may lack what was told of before. revisions_above is as in offsets_decided_again, and 0 for the first life.';

CREATE OR REPLACE FUNCTION revision_floor() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    current_life text := current_setting('receiptd.database_life', true);
BEGIN
    -- The same until the server ends. Other than database_history it says nothing of a start, which loses nothing.
    IF coalesce(current_life, '') = '' THEN
        current_life := split_part(database_history(), '/', 1);
        BEGIN
            current_life := current_life || '/' || (SELECT system_identifier FROM pg_control_system());
        EXCEPTION WHEN OTHERS THEN
            NULL; -- Some services let nobody look.
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
COMMENT ON FUNCTION revision_floor IS
    'A number that no revision told of before the database was last put back is above; 0 where it never was. The next revision of a grant or a subscription is above both this and its own.';
DO $$ BEGIN PERFORM revision_floor(); END $$;

CREATE TABLE IF NOT EXISTS catalogs (
    version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document text NOT NULL,
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    imported_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE catalogs IS 'Every catalog ever imported, as it was written. The highest version is in force.';

-- Before version 1 was settled, parked had another form, for submissions that PostgreSQL refused. It is kept under another name:
-- what such a row needs to be tried again is not in it. Its column submission can be given to `receiptd submit`.
DO $$
BEGIN
    IF to_regclass('parked') IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = to_regclass('parked') AND attname = 'proof' AND NOT attisdropped
    ) THEN
        ALTER TABLE parked RENAME CONSTRAINT parked_pkey TO parked_of_old_pkey;
        DROP INDEX IF EXISTS parked_due;
        ALTER TABLE parked RENAME TO parked_of_old;
    END IF;
END
$$;

CREATE TABLE IF NOT EXISTS parked (
    id uuid NOT NULL PRIMARY KEY,
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    source_timestamp timestamptz NOT NULL,
    submission_key uuid NOT NULL,
    submission_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    proof bytea NOT NULL CHECK (octet_length(proof) = 32),
    reason text COLLATE "C" NOT NULL,
    sql_state text COLLATE "C",
    detail text COLLATE "C",
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    -- How often each answer that Apple may take back was given, by its reason.
    doubts jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(doubts) = 'object'),
    first_failure_at timestamptz,
    parkings integer NOT NULL DEFAULT 0 CHECK (parkings >= 0),
    parked_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz,
    leased_until timestamptz
) WITH (
    -- As for the outbox: rows come and go.
    vacuum_truncate = false,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
-- Since version 3.
ALTER TABLE parked
    -- The last tries at Apple, as JSON.
    ADD COLUMN IF NOT EXISTS tries text COLLATE "C",
    -- Takes since a try last ended, the one under way included: the others ended with their workers, or nobody knows how.
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    -- Taken in isolation, and neither released nor forgiven.
    ADD COLUMN IF NOT EXISTS is_alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0);
-- Since version 4. What was parked before counts for nobody.
ALTER TABLE parked ADD COLUMN IF NOT EXISTS is_proven boolean NOT NULL DEFAULT true;
CREATE INDEX IF NOT EXISTS parked_unproven ON parked (player_id, proof) WHERE NOT is_proven;
CREATE INDEX IF NOT EXISTS parked_suspects ON parked (due_at) WHERE due_at IS NOT NULL AND takes >= 3;
CREATE INDEX IF NOT EXISTS parked_due ON parked (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS parked_proofs ON parked (proof);
CREATE INDEX IF NOT EXISTS parked_players ON parked (player_id) WHERE reason <> 'player_share';
CREATE INDEX IF NOT EXISTS parked_shares ON parked (player_id, due_at) WHERE reason = 'player_share';
-- Since version 5, which adds the order in which `receiptd parked` takes them.
CREATE INDEX IF NOT EXISTS parked_kinds ON parked (bundle_id, reason, parked_at, id);
DROP INDEX IF EXISTS parked_apps;
CREATE INDEX IF NOT EXISTS parked_names ON parked (submission_id);
COMMENT ON TABLE parked IS
    'Submissions that wait outside of memory: their schedule. A row goes with the transaction that decides its submission. Whoever works on one has it leased. due_at is null where only an operator ends the wait: PostgreSQL refuses the data (what may be unstorable is escaped then, and sql_state and detail say why), or it killed its workers (reason crashed).';

CREATE OR REPLACE FUNCTION kinds_of_parked(
    wanted_bundle text, wanted_reason text
) RETURNS TABLE (bundle_id text, reason text) LANGUAGE plpgsql STABLE ROWS 20 SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    -- From one to the next, one look into the index each.
    RETURN QUERY
    WITH RECURSIVE known AS (
        (SELECT bundle_id, reason FROM parked ORDER BY bundle_id, reason LIMIT 1)
        UNION ALL
        SELECT following.bundle_id, following.reason
        FROM known
        CROSS JOIN LATERAL (
            SELECT bundle_id, reason
            FROM parked
            WHERE (bundle_id, reason) > (known.bundle_id, known.reason)
            ORDER BY bundle_id, reason
            LIMIT 1
        ) AS following
    )
    SELECT known.bundle_id, known.reason
    FROM known
    WHERE (wanted_bundle IS NULL OR known.bundle_id = wanted_bundle)
        AND (wanted_reason IS NULL OR known.reason = wanted_reason);
END
$$;
COMMENT ON FUNCTION kinds_of_parked IS
    'Of which apps and for which reasons there are rows: of one app or reason, or of any (null).';

CREATE TABLE IF NOT EXISTS parked_submissions (
    id uuid NOT NULL PRIMARY KEY REFERENCES parked ON DELETE CASCADE,
    content bytea NOT NULL CHECK (octet_length(content) = 32),
    traceparent text COLLATE "C",
    submission bytea NOT NULL
);
COMMENT ON TABLE parked_submissions IS
    'What it takes to try a parked submission again: the SHA-256 of its record''s value, and the submission as it was, as JSON of the submissions topic. Apart from its schedule, which is read and written far more often.';

-- Since version 10.
CREATE TABLE IF NOT EXISTS parked_weights (
    id uuid NOT NULL PRIMARY KEY REFERENCES parked ON DELETE CASCADE,
    bytes integer NOT NULL CHECK (bytes >= 0)
);
COMMENT ON TABLE parked_weights IS
    'How many bytes each parked submission takes whose proof is not proven: their sum is bounded, and read often. A row is never changed.';
INSERT INTO parked_weights (id, bytes)
SELECT id, octet_length(submission)
FROM parked JOIN parked_submissions USING (id)
WHERE NOT is_proven AND NOT EXISTS (SELECT FROM parked_weights AS known WHERE known.id = parked.id)
ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS redriven_dead_letters (
    source_topic text COLLATE "C" NOT NULL,
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    content bytea NOT NULL CHECK (octet_length(content) = 16),
    redriven_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_partition, source_offset, source_topic, content)
);
COMMENT ON TABLE redriven_dead_letters IS
    'Dead letters that an operator has put back on the submissions topic, by the place they first had there: what is not put back a second time unless asked for. content is the first half of the SHA-256 of the value.';

CREATE TABLE IF NOT EXISTS apple_budgets (
    bundle_id text COLLATE "C" NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    held_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (bundle_id, endpoint, environment)
) WITH (fillfactor = 50);
COMMENT ON TABLE apple_budgets IS
    'What all replicas share in front of Apple. Time up to leased_until belongs to replicas, slice by slice, each to send the requests of its slice; before held_until nobody sends any, for Apple said so (Retry-After).';

-- Since version 3.
CREATE TABLE IF NOT EXISTS refunds (
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    original_transaction_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    -- Apple's time of it; null once it was reversed.
    revoked_at timestamptz,
    reason text COLLATE "C" CHECK (reason IN ('refund', 'revoke')),
    -- Thousandths of a percent; null where Apple did not tell.
    refunded_milli_percent integer,
    -- Of the newest notification: an older one changes nothing.
    signed_at timestamptz NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT refunds_have_a_reason CHECK ((revoked_at IS NULL) = (reason IS NULL)),
    PRIMARY KEY (transaction_id, bundle_id, environment)
);
-- Since version 10.
ALTER TABLE refunds
    ADD COLUMN IF NOT EXISTS period_id text COLLATE "C",
    ADD COLUMN IF NOT EXISTS earlier_parts text COLLATE "C";
COMMENT ON COLUMN refunds.period_id IS
    'The claim of the period that was taken back; the rows of one period say the same. Null for all else, and where only an earlier version was told.';
COMMENT ON COLUMN refunds.earlier_parts IS
    'Smaller totals that were taken back before revoked_at, as JSON of pairs: thousandths of a percent, milliseconds since 1970. They stay taken back where the last part is reversed. Null: none.';
CREATE INDEX IF NOT EXISTS refunds_periods ON refunds (period_id) WHERE period_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS refunds_originals ON refunds (original_transaction_id);
COMMENT ON TABLE refunds IS
    'What Apple last said of each transaction that it ever took back, whether it was granted or not: one that was never granted must not be granted later. Never deleted.';

CREATE TABLE IF NOT EXISTS refund_notices (
    notification_id text COLLATE "C" NOT NULL PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    effect text COLLATE "C" NOT NULL,
    signed_at timestamptz NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS refund_notices_transactions ON refund_notices (transaction_id);
COMMENT ON TABLE refund_notices IS
    'Apple''s notifications of refunds and their reversals that were taken, by Apple''s id: one that comes again changes nothing, whatever came between. Never deleted.';

-- Since version 6: what Apple tells by itself.

-- Notifications.
CREATE TABLE IF NOT EXISTS notifications (
    notification_id text COLLATE "C" NOT NULL PRIMARY KEY,
    type text COLLATE "C" NOT NULL,
    subtype text COLLATE "C",
    bundle_id text COLLATE "C",
    environment text COLLATE "C",
    transaction_id text COLLATE "C",
    -- Which way it came first.
    source text COLLATE "C" NOT NULL CHECK (source IN ('notification', 'history')),
    effect text COLLATE "C" NOT NULL,
    signed_at timestamptz NOT NULL,
    taken_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date
);
CREATE INDEX IF NOT EXISTS notifications_days ON notifications (taken_on);
CREATE INDEX IF NOT EXISTS notifications_transactions ON notifications (transaction_id)
    WHERE transaction_id IS NOT NULL;
COMMENT ON TABLE notifications IS
    'Apple''s notifications that were taken, by Apple''s id, whichever way they came: one that comes again changes nothing. Forgotten after 200 days; those of refunds are in refund_notices for ever.';

CREATE TABLE IF NOT EXISTS notification_history (
    bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    taken_until timestamptz,
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    due_at timestamptz NOT NULL DEFAULT '-infinity',
    -- Leases since a page was last taken, without those that were ended.
    starts integer NOT NULL DEFAULT 0,
    -- SHA-256 of the UUID of the notification that is taken by itself now; of the one during which the process died last,
    -- and how often it did.
    suspect bytea CHECK (octet_length(suspect) = 32),
    culprit bytea CHECK (octet_length(culprit) = 32),
    culprit_deaths integer NOT NULL DEFAULT 0,
    -- Of those that are dead letters, for they killed it three times.
    set_aside bytea[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (bundle_id, environment)
);
ALTER TABLE notification_history
    -- The window that is taken in part, and Apple's token of its next page.
    ADD COLUMN IF NOT EXISTS page_from timestamptz,
    ADD COLUMN IF NOT EXISTS page_to timestamptz,
    ADD COLUMN IF NOT EXISTS page_token text COLLATE "C";
COMMENT ON TABLE notification_history IS
    'How far Apple''s notification history of each app was asked for: what Apple tried to send before taken_until is durable here. Whoever asks has it leased. A notification that kills the process again and again is found by taking one at a time.';

-- Purchases that nobody submitted, and whose account tokens are.

CREATE TABLE IF NOT EXISTS announced_purchases (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    original_transaction_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    source text COLLATE "C" NOT NULL CHECK (source IN ('notification', 'history', 'renewal')),
    submission_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the signed account token in lower case, kept no longer than the evidence.
    token bytea CHECK (octet_length(token) = 32),
    -- A further period of its subscription, or the first of one that goes on from another.
    is_renewal boolean NOT NULL,
    previous_original_transaction_id text COLLATE "C",
    purchased_at timestamptz NOT NULL,
    expires_at timestamptz,
    grace_expires_at timestamptz,
    -- When Apple signed or answered it: expiry is judged by it.
    signed_at timestamptz NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    -- What Apple said of it, as JSON, while anything may come of it and no longer than 180 days.
    evidence bytea,
    state text COLLATE "C" NOT NULL
        CHECK (state IN ('waiting', 'claimed', 'granted', 'held', 'refused', 'unclaimed', 'ignored')),
    reason text COLLATE "C",
    player_id text COLLATE "C",
    catalog_version bigint NOT NULL DEFAULT 0,
    -- Of one that waits: since when it waits for its submission, or from when on it is to be delivered.
    due_at timestamptz,
    awaits_submission boolean NOT NULL DEFAULT false,
    leased_until timestamptz,
    times_held integer NOT NULL DEFAULT 0 CHECK (times_held >= 0),
    decided_at timestamptz,
    CONSTRAINT announced_purchases_wait_with_a_time CHECK ((state = 'waiting') = (due_at IS NOT NULL))
) WITH (fillfactor = 80);
-- As of parked submissions.
ALTER TABLE announced_purchases
    -- Takes since one last ended, the one under way included.
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    -- Taken in isolation, and neither released nor forgiven.
    ADD COLUMN IF NOT EXISTS is_alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0);
-- Since version 10.
ALTER TABLE announced_purchases ADD COLUMN IF NOT EXISTS period_id text COLLATE "C";
COMMENT ON COLUMN announced_purchases.period_id IS 'As of grants.';
CREATE INDEX IF NOT EXISTS announced_purchases_periods ON announced_purchases (period_id) WHERE period_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS announced_purchases_suspects ON announced_purchases (due_at) WHERE takes >= 3;
CREATE INDEX IF NOT EXISTS announced_purchases_due ON announced_purchases (due_at)
    WHERE state = 'waiting' AND NOT awaits_submission;
CREATE INDEX IF NOT EXISTS announced_purchases_patient ON announced_purchases (due_at)
    WHERE state = 'waiting' AND awaits_submission;
CREATE INDEX IF NOT EXISTS announced_purchases_outdated ON announced_purchases (catalog_version)
    WHERE state IN ('unclaimed', 'ignored') AND evidence IS NOT NULL;
-- What a grant or a hold ends the wait of, and whose owner it makes known.
CREATE INDEX IF NOT EXISTS announced_purchases_open ON announced_purchases (original_transaction_id, transaction_id)
    WHERE state IN ('waiting', 'unclaimed', 'ignored');
CREATE INDEX IF NOT EXISTS announced_purchases_following
    ON announced_purchases (previous_original_transaction_id)
    WHERE state IN ('waiting', 'unclaimed', 'ignored') AND previous_original_transaction_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS announced_purchases_tokens ON announced_purchases (token, bundle_id)
    WHERE token IS NOT NULL;
-- For `receiptd unclaimed`, oldest first.
CREATE INDEX IF NOT EXISTS announced_purchases_unclaimed ON announced_purchases (stored_at, transaction_id)
    WHERE state = 'unclaimed';
-- Bounded in number, the oldest going first.
CREATE INDEX IF NOT EXISTS announced_purchases_unknown_apps ON announced_purchases (stored_at)
    WHERE state = 'unclaimed' AND reason = 'unknown_app';
CREATE INDEX IF NOT EXISTS announced_purchases_evidence ON announced_purchases (stored_at)
    WHERE (evidence IS NOT NULL OR token IS NOT NULL) AND state <> 'waiting';
CREATE INDEX IF NOT EXISTS announced_purchases_originals ON announced_purchases (original_transaction_id)
    WHERE original_transaction_id <> transaction_id;
CREATE INDEX IF NOT EXISTS announced_purchases_names ON announced_purchases (submission_id);
CREATE INDEX IF NOT EXISTS announced_purchases_players ON announced_purchases (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE announced_purchases IS
    'One row for each purchase that Apple told of by itself, entered and changed only with the claim of its original transaction locked, but for leases and what a word about its token, or the owner of the subscription that it goes on from, makes due. waiting: for its submission, or to be delivered. claimed: a submission or another system brought it. granted, held, refused: what its delivery decided. unclaimed: nobody''s, or not to be delivered; with the reason crashed, it killed its workers, and only an operator has it tried again. ignored: the same where the catalog lists none. One that a hold claimed waits again where that ends without a grant. Never deleted, but for the oldest unclaimed ones of apps that the catalog does not have, where there are too many.';
COMMENT ON COLUMN announced_purchases.submission_id IS 'In place of a game server''s: apple- and the notification, or the transaction.';

CREATE TABLE IF NOT EXISTS player_accounts (
    bundle_id text COLLATE "C" NOT NULL,
    -- SHA-256 of the token in lower case.
    token bytea NOT NULL CHECK (octet_length(token) = 32),
    -- Null once it was forgotten.
    player_id text COLLATE "C",
    source_partition integer NOT NULL,
    source_offset bigint NOT NULL,
    source_timestamp timestamptz NOT NULL,
    PRIMARY KEY (bundle_id, token)
);
CREATE INDEX IF NOT EXISTS player_accounts_players ON player_accounts (player_id) WHERE player_id IS NOT NULL;
COMMENT ON TABLE player_accounts IS
    'Whose account tokens are, as the game says on the topic player-accounts: the newest record of each.';

CREATE TABLE IF NOT EXISTS missed_purchase_grants (
    bundle_id text COLLATE "C" NOT NULL PRIMARY KEY,
    since timestamptz NOT NULL
);
COMMENT ON TABLE missed_purchase_grants IS
    'When each app''s catalog first said that missed purchases are granted: what was bought before is only listed.';

-- A grant that another system writes, or that is imported, ends the wait like one of ours, and makes an owner known.
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
CREATE OR REPLACE TRIGGER outside_grant_ends_wait AFTER INSERT ON grants
    FOR EACH ROW WHEN (NEW.submission_key IS NULL) EXECUTE FUNCTION end_wait_by_outside_grant();

-- What Apple takes back is nobody's to claim, and what it reinstates is again.
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
CREATE OR REPLACE TRIGGER refund_of_announced_purchase AFTER INSERT OR UPDATE ON refunds
    FOR EACH ROW EXECUTE FUNCTION look_again_after_refund();

-- Who told of what is held, and whether it is judged as a renewal of its owner's.
ALTER TABLE holds
    ADD COLUMN IF NOT EXISTS source text COLLATE "C" NOT NULL DEFAULT 'submission'
        CHECK (source IN ('submission', 'notification', 'history', 'renewal')),
    ADD COLUMN IF NOT EXISTS is_renewal boolean NOT NULL DEFAULT false;
-- As of parked submissions. One that killed its workers has no due time, and keeps its deaths until an operator releases it.
ALTER TABLE holds
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    ADD COLUMN IF NOT EXISTS is_alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0);
CREATE INDEX IF NOT EXISTS holds_suspects ON holds (due_at) WHERE takes >= 3;

-- Subscriptions.
CREATE TABLE IF NOT EXISTS subscriptions (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    subscription_group_id text COLLATE "C",
    state text COLLATE "C" NOT NULL CHECK (
        state IN ('active', 'grace_period', 'billing_retry', 'expired', 'revoked')),
    expires_at timestamptz,
    grace_expires_at timestamptz,
    will_renew boolean,
    renewal_product_id text COLLATE "C",
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    revision integer NOT NULL CHECK (revision >= 1),
    checked_at timestamptz,
    updated_at timestamptz NOT NULL,
    -- When Apple told each part: what is older changes nothing. state_told_at is null while only a transaction told of its
    -- own period.
    period_began_at timestamptz NOT NULL,
    state_told_at timestamptz,
    will_renew_told_at timestamptz,
    renewal_product_told_at timestamptz,
    -- Null where Apple is not asked before something tells of it.
    due_at timestamptz,
    leased_until timestamptz,
    tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    -- Leases since one ended in order: the next is the longer for each.
    takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    -- From when on Apple's history is to be looked through for periods that were missed; null once it was read to its end.
    history_since timestamptz
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
-- Since version 9. The begin of the last period before one that something told of which grants nothing: Apple is asked for the
-- periods since. Null once it was.
ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS periods_since timestamptz;
CREATE INDEX IF NOT EXISTS subscriptions_due ON subscriptions (bundle_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS subscriptions_players ON subscriptions (player_id);
CREATE INDEX IF NOT EXISTS subscriptions_kinds
    ON subscriptions (bundle_id, state, updated_at DESC, original_transaction_id);
COMMENT ON TABLE subscriptions IS
    'One row for each auto-renewable subscription in an app that follows renewals of which something is granted, or of the one it goes on from, as Apple last told it. Written under its claim''s lock. Whoever asks Apple about one has it leased. The columns up to updated_at are for outside readers.';

CREATE OR REPLACE FUNCTION kinds_of_subscriptions(
    wanted_bundle text, wanted_state text
) RETURNS TABLE (bundle_id text, state text) LANGUAGE plpgsql STABLE ROWS 20 SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    -- From one to the next, one look into the index each.
    RETURN QUERY
    WITH RECURSIVE known AS (
        (SELECT bundle_id, state FROM subscriptions ORDER BY bundle_id, state LIMIT 1)
        UNION ALL
        SELECT following.bundle_id, following.state
        FROM known
        CROSS JOIN LATERAL (
            SELECT bundle_id, state
            FROM subscriptions
            WHERE (bundle_id, state) > (known.bundle_id, known.state)
            ORDER BY bundle_id, state
            LIMIT 1
        ) AS following
    )
    SELECT known.bundle_id, known.state
    FROM known
    WHERE (wanted_bundle IS NULL OR known.bundle_id = wanted_bundle)
        AND (wanted_state IS NULL OR known.state = wanted_state);
END
$$;
COMMENT ON FUNCTION kinds_of_subscriptions IS
    'Of which apps and in which states there are rows: of one app or state, or of any (null).';

CREATE TABLE IF NOT EXISTS unowned_subscriptions (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    subscription_group_id text COLLATE "C",
    state text COLLATE "C" NOT NULL CHECK (
        state IN ('active', 'grace_period', 'billing_retry', 'expired', 'revoked')),
    expires_at timestamptz,
    grace_expires_at timestamptz,
    will_renew boolean,
    renewal_product_id text COLLATE "C",
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    period_began_at timestamptz NOT NULL,
    state_told_at timestamptz,
    will_renew_told_at timestamptz,
    renewal_product_told_at timestamptz
);
CREATE INDEX IF NOT EXISTS unowned_subscriptions_periods ON unowned_subscriptions (period_began_at);
COMMENT ON TABLE unowned_subscriptions IS
    'What Apple told of a subscription of which nothing is granted yet: its first row in subscriptions takes it over. Written under its claim''s lock. Forgotten 400 days after the period began.';

CREATE TABLE IF NOT EXISTS subscription_receipts (
    original_transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    receipt bytea NOT NULL,
    -- Since when the subscription is over; null while it is not.
    over_on date
) WITH (toast_tuple_target = 256);
CREATE INDEX IF NOT EXISTS subscription_receipts_days ON subscription_receipts (over_on) WHERE over_on IS NOT NULL;
COMMENT ON TABLE subscription_receipts IS
    'The newest receipt of each subscription of an app without App Store Server API, decoded: what Apple is asked with. PostgreSQL compresses it. Gone 60 days after the subscription is over.';

CREATE TABLE IF NOT EXISTS subscription_transfers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    original_transaction_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    from_player_id text COLLATE "C" NOT NULL,
    to_player_id text COLLATE "C" NOT NULL,
    operator text COLLATE "C" NOT NULL,
    note text COLLATE "C",
    transferred_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS subscription_transfers_givers ON subscription_transfers (from_player_id);
CREATE INDEX IF NOT EXISTS subscription_transfers_takers ON subscription_transfers (to_player_id);
CREATE INDEX IF NOT EXISTS subscription_transfers_originals ON subscription_transfers (original_transaction_id);
COMMENT ON TABLE subscription_transfers IS
    'Who gave which subscription''s future periods to another player. Never deleted.';

-- Since version 10.
CREATE OR REPLACE FUNCTION is_of_app(
    wanted_original text, wanted_bundle text, wanted_environment text
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM grants
        WHERE transaction_id = wanted_original AND bundle_id = wanted_bundle AND environment = wanted_environment
    ) OR EXISTS (
        SELECT FROM grants
        WHERE original_transaction_id = wanted_original AND original_transaction_id <> transaction_id
            AND bundle_id = wanted_bundle AND environment = wanted_environment
    ) OR EXISTS (
        SELECT FROM holds
        WHERE original_transaction_id = wanted_original AND bundle_id = wanted_bundle
            AND environment = wanted_environment
    ) OR EXISTS (
        SELECT FROM subscriptions
        WHERE original_transaction_id = wanted_original AND bundle_id = wanted_bundle
            AND environment = wanted_environment
    )
$$;
COMMENT ON FUNCTION is_of_app IS
    'Whether anything is granted or held under an original transaction, or followed, in this app and environment: only there another subscription goes on from it.';

-- Refund requests, and what Apple is told of deliveries.
CREATE TABLE IF NOT EXISTS finishes (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    bundle_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    -- Of the grant: Apple is told once the outbox no longer has it.
    event_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Most events are acknowledged by then. Null once it is over.
    due_at timestamptz DEFAULT now() + interval '2 seconds',
    tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    result text COLLATE "C",
    ended_on date,
    CONSTRAINT finishes_end_once CHECK ((due_at IS NULL) = (result IS NOT NULL) AND (due_at IS NULL) = (ended_on IS NOT NULL))
) WITH (
    -- As for the outbox: each row is changed a few times and goes.
    vacuum_truncate = false,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0
);
-- Since version 10. Leases since a try ended in order: the next is the longer for each.
ALTER TABLE finishes ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0);
CREATE INDEX IF NOT EXISTS finishes_due ON finishes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS finishes_ended ON finishes (ended_on) WHERE ended_on IS NOT NULL;
COMMENT ON TABLE finishes IS
    'Delivered transactions of which Apple is told so, for apps that want it. Entered with the grant, or with the submission that found it granted. Whoever works on one has put due_at off, which is its lease and the time of the next try. Forgotten 30 days after the end.';

CREATE TABLE IF NOT EXISTS refund_requests (
    notification_id text COLLATE "C" NOT NULL PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL,
    original_transaction_id text COLLATE "C" NOT NULL,
    -- Null while the transaction is not in the ledger.
    player_id text COLLATE "C",
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    kind text COLLATE "C" CHECK (
        kind IN ('consumable', 'non_consumable', 'non_renewing_subscription', 'auto_renewable_subscription')),
    -- Apple's.
    reason text COLLATE "C",
    signed_at timestamptz NOT NULL,
    answer_by timestamptz NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now(),
    -- Null once it is over.
    due_at timestamptz DEFAULT now(),
    tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    result text COLLATE "C",
    -- What Apple was told.
    delivery_status text COLLATE "C",
    consumption_milli_percent integer,
    refund_preference text COLLATE "C",
    ended_at timestamptz,
    CONSTRAINT refund_requests_end_once CHECK (
        (due_at IS NULL) = (result IS NOT NULL) AND (due_at IS NULL) = (ended_at IS NOT NULL))
);
ALTER TABLE refund_requests ALTER COLUMN player_id DROP NOT NULL;
-- Since version 10. Leases since a try ended in order: the next is the longer for each.
ALTER TABLE refund_requests ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0);
CREATE INDEX IF NOT EXISTS refund_requests_due ON refund_requests (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS refund_requests_unowned ON refund_requests (due_at)
    WHERE player_id IS NULL AND due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS refund_requests_transactions ON refund_requests (transaction_id);
CREATE INDEX IF NOT EXISTS refund_requests_players ON refund_requests (player_id);
CREATE INDEX IF NOT EXISTS refund_requests_taken ON refund_requests (taken_at);
COMMENT ON TABLE refund_requests IS
    'Refunds that players asked Apple for, by Apple''s notification. One whose transaction is not granted, held, refused or parked yet has no player, and is looked at again each minute for as long as Apple takes an answer. Whoever works on one has put due_at off, which is its lease and the time of the next try. Forgotten after 200 days.';

CREATE TABLE IF NOT EXISTS undelivered (
    transaction_id text COLLATE "C" NOT NULL PRIMARY KEY,
    original_transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    environment text COLLATE "C" NOT NULL CHECK (environment IN ('Production', 'Sandbox')),
    kind text COLLATE "C" CHECK (
        kind IN ('consumable', 'non_consumable', 'non_renewing_subscription', 'auto_renewable_subscription')),
    -- Of a subscription's period.
    expires_at timestamptz,
    -- A reason of the contract's, or parked.
    reason text COLLATE "C" NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS undelivered_players ON undelivered (player_id);
CREATE INDEX IF NOT EXISTS undelivered_decided ON undelivered (decided_at);
COMMENT ON TABLE undelivered IS
    'Purchases that Apple vouches for and that the player who paid did not get, since their submission is parked or a rule refused it: for Apple''s question about their refund, after all else that the ledger knows. The first player''s row stays. Forgotten after 180 days.';

CREATE OR REPLACE FUNCTION refund_owner(
    wanted_transaction text, wanted_original text, wanted_bundle text, wanted_environment text
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
        FROM claims
        JOIN grants ON grants.transaction_id = claims.granted_transaction_id
        WHERE claims.original_transaction_id = wanted_original AND grants.bundle_id = wanted_bundle
            AND grants.environment = wanted_environment
        LIMIT 1)
        UNION ALL
        -- Not by the index of apps, however few rows there were when the plan was made.
        (SELECT 3, held.player_id, NULL
        FROM (SELECT * FROM holds WHERE holds.transaction_id = wanted_transaction OFFSET 0) AS held
        WHERE held.bundle_id = wanted_bundle AND held.environment = wanted_environment
        LIMIT 1)
        UNION ALL
        (SELECT 4, told.player_id, NULL
        FROM (SELECT * FROM announced_purchases AS known WHERE known.transaction_id = wanted_transaction OFFSET 0) AS told
        WHERE told.bundle_id = wanted_bundle AND told.environment = wanted_environment AND told.player_id IS NOT NULL
        LIMIT 1)
        UNION ALL
        (SELECT 5, refusals.player_id, NULL
        FROM refusals
        WHERE refusals.transaction_id = wanted_transaction
        ORDER BY refusals.refused_at DESC
        LIMIT 1)
        UNION ALL
        (SELECT 6, missed.player_id, missed.kind
        FROM (SELECT * FROM undelivered AS known WHERE known.transaction_id = wanted_transaction OFFSET 0) AS missed
        WHERE missed.bundle_id = wanted_bundle AND missed.environment = wanted_environment
        LIMIT 1)
    ) AS known
    ORDER BY known.place
    LIMIT 1
$$;
COMMENT ON FUNCTION refund_owner IS
    'The player whose transaction a refund is asked for, and the product''s type where it is known: of one that is granted, held, refused or parked, or waits for its delivery, or of a non-consumable that is granted under another id. No row where there is none.';

CREATE TABLE IF NOT EXISTS consumption_reports (
    bundle_id text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    consumption_milli_percent integer CHECK (consumption_milli_percent BETWEEN 0 AND 100000),
    refund_preference text COLLATE "C" CHECK (refund_preference IN ('decline', 'grant_full', 'grant_prorated')),
    is_consented boolean,
    told_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (transaction_id, bundle_id)
);
CREATE INDEX IF NOT EXISTS consumption_reports_told ON consumption_reports (told_at);
COMMENT ON TABLE consumption_reports IS
    'What the game said last of a transaction, for Apple''s question about its refund. Null is what it left out. Forgotten after 30 days.';

-- What Apple's signed word tells.
ALTER TABLE grants
    -- For the whole quantity, in thousandths of the currency's unit.
    ADD COLUMN IF NOT EXISTS price_milliunits bigint,
    ADD COLUMN IF NOT EXISTS currency text COLLATE "C",
    ADD COLUMN IF NOT EXISTS storefront text COLLATE "C",
    ADD COLUMN IF NOT EXISTS offer_type integer,
    ADD COLUMN IF NOT EXISTS offer_discount_type text COLLATE "C",
    ADD COLUMN IF NOT EXISTS transaction_reason text COLLATE "C",
    ADD COLUMN IF NOT EXISTS is_trial boolean;
COMMENT ON COLUMN grants.price_milliunits IS
    'As this and the next ones were told by Apple, null where it did not tell; is_trial is true or null. An indication: Apple says not to reconcile by it.';

-- Operators' words.

-- revoked_at is since when anything is taken back, by whomever; these say how much, and by whose word. All null where the
-- grant is whole; null beside revoked_at where another system or an earlier version wrote it: then it is Apple's revocation
-- for the whole.
ALTER TABLE grants
    ADD COLUMN IF NOT EXISTS revoked_units integer CHECK (revoked_units >= 1),
    ADD COLUMN IF NOT EXISTS apple_revoked_at timestamptz,
    ADD COLUMN IF NOT EXISTS apple_revocation_reason text COLLATE "C" CHECK (apple_revocation_reason IN ('refund', 'revoke')),
    ADD COLUMN IF NOT EXISTS apple_revoked_milli_percent integer CHECK (apple_revoked_milli_percent BETWEEN 1 AND 100000),
    ADD COLUMN IF NOT EXISTS operator_revoked_at timestamptz;
COMMENT ON COLUMN grants.revoked_units IS 'How many of quantity are taken back in all.';

CREATE TABLE IF NOT EXISTS grant_decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id text COLLATE "C" NOT NULL,
    player_id text COLLATE "C" NOT NULL,
    bundle_id text COLLATE "C" NOT NULL,
    product_id text COLLATE "C" NOT NULL,
    decision text COLLATE "C" NOT NULL CHECK (decision IN ('revoke', 'reinstate')),
    operator text COLLATE "C" NOT NULL,
    note text COLLATE "C",
    decided_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS grant_decisions_transactions ON grant_decisions (transaction_id);
CREATE INDEX IF NOT EXISTS grant_decisions_players ON grant_decisions (player_id);
COMMENT ON TABLE grant_decisions IS
    'Who took a grant back by an operator''s word, or took that word back, and why. Never deleted.';

CREATE TABLE IF NOT EXISTS erasures (
    -- Longer than any player's id may be: nobody can submit it.
    pseudonym text COLLATE "C" NOT NULL PRIMARY KEY,
    player_id text COLLATE "C" UNIQUE,
    operator text COLLATE "C" NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    done_at timestamptz,
    CONSTRAINT erasures_forget_whom CHECK ((player_id IS NULL) = (done_at IS NOT NULL))
);
COMMENT ON TABLE erasures IS
    'Players who were erased. While it is under way player_id says who, so that it goes on under the same pseudonym after a kill; then nothing does.';

-- What the console shows, and who changed what with it.

CREATE TABLE IF NOT EXISTS traffic_minutes (
    began_at timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('class', 'outcome', 'dead_letter', 'apple', 'apple_seconds')),
    name text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    PRIMARY KEY (began_at, kind, name)
) WITH (fillfactor = 80);
COMMENT ON TABLE traffic_minutes IS
    'What all workers counted in each minute: submissions by class, events by type and reason, dead letters, Apple''s answers, and Apple''s answers by their time in seconds. For charts: what a worker that dies has counted in its last minute is lost. Forgotten after two days.';

CREATE TABLE IF NOT EXISTS traffic_hours (
    began_at timestamptz NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('class', 'outcome', 'dead_letter', 'apple', 'apple_seconds')),
    name text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    PRIMARY KEY (began_at, kind, name)
) WITH (fillfactor = 80);
COMMENT ON TABLE traffic_hours IS 'The same by hour. Forgotten after 90 days.';

CREATE TABLE IF NOT EXISTS incidents (
    kind text COLLATE "C" NOT NULL,
    -- What it concerns, as a topic's partition and its offsets; empty where the kind says all.
    subject text COLLATE "C" NOT NULL,
    count bigint NOT NULL CHECK (count > 0),
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, subject)
);
COMMENT ON TABLE incidents IS
    'What must not be overlooked although its process may have ended before anybody looked: records that Kafka deleted unread, a database that fell back, what killed its workers. For alerts. Forgotten after 90 days.';

CREATE INDEX IF NOT EXISTS refunds_noted ON refunds (noted_at);

CREATE TABLE IF NOT EXISTS console_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operator text COLLATE "C" NOT NULL,
    change text COLLATE "C" NOT NULL,
    -- A transaction's or submission's id, or the filter.
    subject text COLLATE "C" NOT NULL,
    note text COLLATE "C",
    -- As the operator was shown.
    shown bigint NOT NULL CHECK (shown >= 0),
    began_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    result text COLLATE "C",
    CONSTRAINT console_changes_end_with_result CHECK ((ended_at IS NULL) = (result IS NULL))
);
-- Since version 9, for `receiptd players erase`. A filter may be longer than a B-tree's entry.
CREATE INDEX IF NOT EXISTS console_changes_subjects ON console_changes USING hash (subject);
COMMENT ON TABLE console_changes IS
    'Who changed what with the console, or by a command about what is parked, unclaimed or a dead letter: entered before the change is begun, and ended with what came of it. Never deleted.';

INSERT INTO schema_version AS known (version) VALUES (10)
ON CONFLICT (only_row) DO UPDATE SET version = excluded.version, applied_at = now()
    WHERE known.version < excluded.version;
