-- Roles of receiptd's database. Each role has exactly the rights that its statements need. You may repeat this script.
-- Run it with psql, as a superuser or as a role that may create roles and is a member of receiptd_owner:
--
--   psql --set ON_ERROR_STOP=1 --file roles.sql --dbname receiptd [--set schema=public]
--
-- Run it before the first `receiptd migrate`, and after each, because a new version may have new tables. The script
-- removes all other rights of these roles on tables of the schema.
--
-- receiptd_owner      receiptd migrate
-- receiptd_worker     receiptd run, receiptd check
-- receiptd_operator   every other command, and receiptd console
-- receiptd_support    the commands that only read: inspect, list, catalog show, reconcile; a console that only shows
-- receiptd_reader     outside readers of the columns that the contract promises
--
-- The roles have no passwords yet: \password receiptd_worker. receiptd intake needs no database.
\if :{?schema}
\else
    \set schema public
\endif

BEGIN;
SET LOCAL client_min_messages = warning;

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY[
        'receiptd_owner', 'receiptd_worker', 'receiptd_operator', 'receiptd_support', 'receiptd_reader'
    ] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I LOGIN', wanted);
        END IF;
    END LOOP;
END
$$;

-- Sessions that only read must not delay maintenance. Support's sessions lack the rights to write, but are not
-- read-only by default, because receiptd's commands would take the server for a standby.
ALTER ROLE receiptd_support SET idle_in_transaction_session_timeout = '60s';
ALTER ROLE receiptd_reader SET default_transaction_read_only = on;
ALTER ROLE receiptd_reader SET idle_in_transaction_session_timeout = '60s';

REVOKE CREATE ON SCHEMA :"schema" FROM PUBLIC;
GRANT CREATE, USAGE ON SCHEMA :"schema" TO receiptd_owner;
GRANT USAGE ON SCHEMA :"schema" TO receiptd_worker, receiptd_operator, receiptd_support, receiptd_reader;
GRANT CONNECT ON DATABASE :"DBNAME"
    TO receiptd_owner, receiptd_worker, receiptd_operator, receiptd_support, receiptd_reader;
-- `grants import` loads its file into a temporary table.
GRANT TEMPORARY ON DATABASE :"DBNAME" TO receiptd_operator;

-- An operator's command needs the worker's rights on held and parked submissions.
GRANT receiptd_worker TO receiptd_operator;

SELECT to_regclass(format('%I.schema_version', :'schema')) IS NOT NULL AS is_migrated \gset
\if :is_migrated

SET LOCAL ROLE receiptd_owner;
SET LOCAL search_path = :"schema";

REVOKE ALL ON ALL TABLES IN SCHEMA :"schema"
    FROM receiptd_worker, receiptd_operator, receiptd_support, receiptd_reader;

-- The worker's rights.
GRANT SELECT ON catalogs, durable_offsets, erasures, schema_version TO receiptd_worker;
GRANT INSERT ON hold_decisions TO receiptd_worker;
GRANT SELECT, INSERT ON
    account_token_accounts, account_token_senders, database_lives, missed_purchase_grants, parked_submissions,
    parked_weights, refund_notices, refusals
    TO receiptd_worker;
GRANT SELECT, INSERT, UPDATE ON
    account_tokens, apple_budgets, grants, maintenance_turns, notification_history,
    offset_checkpoints, offsets_decided_again, partition_progress, player_accounts, refunds, subscriptions
    TO receiptd_worker;
GRANT SELECT, INSERT, DELETE ON device_sightings, local_refusals, notifications, proofs TO receiptd_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    announced_purchases, claims, consumption_reports, finishes, held_submissions, holds, incidents, outbox, parked, refund_requests, replays,
    subscription_receipts, traffic_hours, traffic_minutes, undelivered, unowned_subscriptions
    TO receiptd_worker;
-- drop_outcomes_day requires the right DELETE, and drops a whole day with the owner's rights.
GRANT SELECT, INSERT, DELETE ON outcomes TO receiptd_worker;
GRANT SELECT, DELETE ON outcomes_apart, outcomes_default TO receiptd_worker;

-- Operators' rights beyond the worker's.
GRANT INSERT ON catalogs TO receiptd_operator;
GRANT SELECT, INSERT ON redriven_dead_letters TO receiptd_operator;
GRANT SELECT, INSERT, UPDATE ON grant_decisions, subscription_transfers TO receiptd_operator;
GRANT SELECT, UPDATE ON hold_decisions TO receiptd_operator;
-- For `receiptd console`.
GRANT SELECT, INSERT, UPDATE ON console_changes TO receiptd_operator;
-- For `receiptd players erase`.
GRANT INSERT, UPDATE ON erasures TO receiptd_operator;
GRANT UPDATE ON outcomes, refusals TO receiptd_operator;
GRANT DELETE ON account_token_accounts, account_token_senders, account_tokens, player_accounts TO receiptd_operator;

-- The rights of support.
GRANT SELECT ON
    account_token_senders, account_tokens, announced_purchases, catalogs, claims, consumption_reports, finishes,
    grant_decisions, grants, hold_decisions, holds, local_refusals, outbox, outcomes, parked, proofs, redriven_dead_letters, refund_notices,
    refund_requests, refunds, refusals, replays, schema_version, subscription_transfers, subscriptions, traffic_hours, traffic_minutes,
    console_changes, undelivered
    TO receiptd_support;

-- The rights of outside readers.
GRANT SELECT (
    transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
    submission_id, granted_at, revoked_at
) ON grants TO receiptd_reader;
GRANT SELECT (
    original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at, grace_expires_at,
    will_renew, renewal_product_id, environment, revision, checked_at, updated_at
) ON subscriptions TO receiptd_reader;

\else
    \warn 'There are no tables yet: run receiptd migrate as receiptd_owner, then this again.'
\endif

COMMIT;
