-- Changes the tables of any version before 11 into those of version 11. schema.sql is applied next, and creates missing
-- tables, indexes and functions. So this file only changes existing tables. It skips a table that the database does not
-- have, and a column that it already has.

-- The first databases had another table named parked, for submissions that PostgreSQL refused. Its rows lack data that
-- a worker needs for a try, so the table is renamed. You can pass its column submission to `receiptd submit`.
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

ALTER TABLE IF EXISTS grants
    ADD COLUMN IF NOT EXISTS is_bound boolean,
    ADD COLUMN IF NOT EXISTS app_transaction_id text COLLATE "C",
    ADD COLUMN IF NOT EXISTS period_id text COLLATE "C",
    ADD COLUMN IF NOT EXISTS price_milliunits bigint,
    ADD COLUMN IF NOT EXISTS currency text COLLATE "C",
    ADD COLUMN IF NOT EXISTS storefront text COLLATE "C",
    ADD COLUMN IF NOT EXISTS offer_type integer,
    ADD COLUMN IF NOT EXISTS offer_discount_type text COLLATE "C",
    ADD COLUMN IF NOT EXISTS transaction_reason text COLLATE "C",
    ADD COLUMN IF NOT EXISTS is_trial boolean,
    ADD COLUMN IF NOT EXISTS revoked_units integer CHECK (revoked_units >= 1),
    ADD COLUMN IF NOT EXISTS apple_revoked_at timestamptz,
    ADD COLUMN IF NOT EXISTS apple_revocation_reason text COLLATE "C" CHECK (apple_revocation_reason IN ('refund', 'revoke')),
    ADD COLUMN IF NOT EXISTS apple_revoked_milli_percent integer CHECK (apple_revoked_milli_percent BETWEEN 1 AND 100000),
    ADD COLUMN IF NOT EXISTS operator_revoked_at timestamptz;

ALTER TABLE IF EXISTS holds
    ADD COLUMN IF NOT EXISTS traceparent text COLLATE "C",
    ADD COLUMN IF NOT EXISTS evidence bytea,
    ADD COLUMN IF NOT EXISTS waived text[] COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS released_at timestamptz,
    ADD COLUMN IF NOT EXISTS due_at timestamptz,
    ADD COLUMN IF NOT EXISTS tries integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    ADD COLUMN IF NOT EXISTS leased_until timestamptz,
    ADD COLUMN IF NOT EXISTS note text COLLATE "C",
    ADD COLUMN IF NOT EXISTS risk text[] COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS period_id text COLLATE "C",
    ADD COLUMN IF NOT EXISTS source text COLLATE "C" NOT NULL DEFAULT 'submission'
        CHECK (source IN ('submission', 'notification', 'history', 'renewal')),
    ADD COLUMN IF NOT EXISTS is_renewal boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    ADD COLUMN IF NOT EXISTS is_alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0);
ALTER TABLE IF EXISTS hold_decisions ADD COLUMN IF NOT EXISTS event_id uuid;

ALTER TABLE IF EXISTS device_sightings DROP CONSTRAINT IF EXISTS device_sightings_pkey;
DROP INDEX IF EXISTS device_sightings_day, device_sightings_days, replays_day, proofs_seen_on, parked_apps;

ALTER TABLE IF EXISTS outcomes ADD COLUMN IF NOT EXISTS story text COLLATE "C";
ALTER TABLE IF EXISTS durable_offsets
    ADD COLUMN IF NOT EXISTS departures bigint NOT NULL DEFAULT 0 CHECK (departures >= 0);
ALTER TABLE IF EXISTS offsets_decided_again ADD COLUMN IF NOT EXISTS revisions_above integer NOT NULL
    DEFAULT extract(epoch FROM now() - timestamptz '2026-01-01 00:00:00+00')::integer,
    ADD COLUMN IF NOT EXISTS claims_from timestamptz;

-- Rows that were parked before version 4 count as proven, so they do not use up the limit of unproven proofs.
ALTER TABLE IF EXISTS parked
    ADD COLUMN IF NOT EXISTS tries text COLLATE "C",
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    ADD COLUMN IF NOT EXISTS is_alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0),
    ADD COLUMN IF NOT EXISTS is_proven boolean NOT NULL DEFAULT true;
DO $$
BEGIN
    IF to_regclass('parked_submissions') IS NOT NULL THEN
        CREATE TABLE IF NOT EXISTS parked_weights (
            id uuid NOT NULL PRIMARY KEY REFERENCES parked ON DELETE CASCADE,
            bytes integer NOT NULL CHECK (bytes >= 0)
        );
        INSERT INTO parked_weights (id, bytes)
        SELECT id, octet_length(submission)
        FROM parked JOIN parked_submissions USING (id)
        WHERE NOT is_proven
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;

ALTER TABLE IF EXISTS refunds
    ADD COLUMN IF NOT EXISTS period_id text COLLATE "C",
    ADD COLUMN IF NOT EXISTS earlier_parts text COLLATE "C";
ALTER TABLE IF EXISTS notification_history
    ADD COLUMN IF NOT EXISTS page_from timestamptz,
    ADD COLUMN IF NOT EXISTS page_to timestamptz,
    ADD COLUMN IF NOT EXISTS page_token text COLLATE "C";
ALTER TABLE IF EXISTS announced_purchases
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    ADD COLUMN IF NOT EXISTS is_alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS deaths_alone integer NOT NULL DEFAULT 0 CHECK (deaths_alone >= 0),
    ADD COLUMN IF NOT EXISTS period_id text COLLATE "C";
ALTER TABLE IF EXISTS subscriptions ADD COLUMN IF NOT EXISTS periods_since timestamptz;
ALTER TABLE IF EXISTS finishes ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0);
ALTER TABLE IF EXISTS refund_requests
    ADD COLUMN IF NOT EXISTS takes integer NOT NULL DEFAULT 0 CHECK (takes >= 0),
    ADD COLUMN IF NOT EXISTS period_id text COLLATE "C",
    ALTER COLUMN player_id DROP NOT NULL;
-- The function has one more argument now.
DROP FUNCTION IF EXISTS refund_owner(text, text, text, text);
