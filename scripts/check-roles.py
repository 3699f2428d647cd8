#!/usr/bin/env python3
"""Fails if deploy/postgres/roles.sql gives a role too few rights for its statements, or more rights than these need.

usage: check-roles.py SOCKET_FOLDER     by scripts/check-roles.sh, on a temporary server

Applies roles.sql before and after the schema, twice each. Then each role prepares its statements, so that the
server checks the rights, as in `receiptd check`. Without any one of the rights, at least one statement must fail.
"""

import re
import subprocess
import sys
from pathlib import Path

import psycopg
from psycopg import errors, sql

ROLES = Path("deploy/postgres/roles.sql")
LEDGER = Path("Sources/Ledger")
BACK_OFFICE = Path("Sources/BackOffice")
DATABASE = "receiptd"
SERVER = sys.argv[1]

# Statement files that create or read a table outside of the schema.
NOT_IN_TABLES = {"create_import_table", "find_index_states"}
# The statement files of commands that only read. receiptd_support runs these commands.
LOOKING = re.compile(
    r"inspect_\w+|find_event_names|find_told_\w+|list_(holds|parked|unclaimed|subscriptions)|list_(unclaimed|refund)_kinds|list_kept_dead_letters|count_(holds|parked|unclaimed)"
    r"|list_traffic_\w+|list_console_changes|list_refunds|count_refunds|count_listed_subscriptions|count_granted_units|find_(latest_)?catalog|find_redriven_dead_letters")

# The check runs these statements to their end, because the bodies of functions and the triggers need rights of their
# own.
SCHEMA_VERSION = "SELECT version FROM schema_version"
WORKERS_CALLS = [
    SCHEMA_VERSION,
    "SELECT * FROM count_grants_of_days('{}', '{}', '{}', '{}', 1)",
    "SELECT * FROM players_of_devices('{}', '{}', '{}', 1)",
    "SELECT * FROM accounts_of_players('{}', '{}', 1)",
    "SELECT * FROM replays_before('{}', '{}', '{}')",
    "SELECT * FROM kinds_of_parked(NULL, NULL)",
    "SELECT * FROM refund_owner('1', '1', 'b', 'Production')",
    "SELECT database_history()",
    "SELECT revision_floor()",
    "SELECT lost_before()",
    "SELECT may_be_lost(now())",
    "SELECT make_outcomes_day(current_date)",
    "SELECT drop_outcomes_day('2020-01-01')",
    "INSERT INTO refunds SELECT (jsonb_populate_record(NULL::refunds, '{}')).* WHERE false",
]
OPERATORS_CALLS = [
    """INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, submission_id, granted_at)
    VALUES ('1', 'p', 'b', 'x', 1, 'Production', 's', now())""",
    "SELECT * FROM kinds_of_holds(NULL, NULL)",
    "SELECT * FROM kinds_of_subscriptions(NULL, NULL)",
]
SUPPORTS_CALLS = [SCHEMA_VERSION, *(call for call in OPERATORS_CALLS + WORKERS_CALLS if "FROM kinds_of" in call)]
READERS_CALLS = [
    """SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
        submission_id, granted_at, revoked_at FROM grants""",
    """SELECT original_transaction_id, player_id, bundle_id, product_id, subscription_group_id, state, expires_at,
        grace_expires_at, will_renew, renewal_product_id, environment, revision, checked_at, updated_at FROM subscriptions""",
]
# The statements that PostgreSQL must refuse to each role.
REFUSED = {
    "receiptd_worker": ["DELETE FROM grants", "UPDATE outcomes SET answer = NULL", "INSERT INTO catalogs DEFAULT VALUES",
                        "CREATE TABLE mine (id int)", "DROP TABLE outcomes_default", "TRUNCATE grants"],
    "receiptd_operator": ["DELETE FROM grants", "DELETE FROM hold_decisions", "CREATE TABLE mine (id int)"],
    "receiptd_support": ["UPDATE grants SET revoked_at = now()", "INSERT INTO refusals DEFAULT VALUES", "DELETE FROM outbox",
                         "SELECT * FROM holds FOR UPDATE", "SELECT make_outcomes_day(current_date)",
                         "SELECT drop_outcomes_day('2020-01-01')", "SELECT * FROM held_submissions",
                         "CREATE TABLE mine (id int)"],
    "receiptd_reader": ["SELECT * FROM grants", "SELECT event FROM grants", "SELECT * FROM holds", "SELECT * FROM outcomes",
                        "SELECT due_at FROM subscriptions", "UPDATE grants SET revoked_at = now()",
                        "SELECT make_outcomes_day(current_date)", "CREATE TABLE mine (id int)"],
}

faults: list[str] = []


def connect(role: str) -> psycopg.Connection:
    return psycopg.connect(host=SERVER, dbname=DATABASE, user=role, prepare_threshold=None)


def apply(path: Path, role: str) -> None:
    ran = subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "--host", SERVER, "--username", role, "--dbname", DATABASE,
         "--set", "ON_ERROR_STOP=1", "--file", str(path)],
        capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"check-roles: {path} as {role}\n{ran.stderr}")


def statements() -> tuple[dict[str, str], dict[str, str]]:
    """Returns all statements, and the statements of a worker, by name."""
    every = {
        path.stem: path.read_text() for target in (LEDGER, BACK_OFFICE) for path in sorted(target.glob("*/SQL/*.sql"))
        if path.stem not in NOT_IN_TABLES and not path.is_symlink()}
    names = re.findall(r"PackageResources\.(\w+)_sql", (LEDGER / "Schema/LedgerRehearsal+Worker.swift").read_text())
    workers = {name: every[name] for name in names}
    for table, column in re.findall(r'Pruning\("(\w+)", by: "(\w+)"', (LEDGER / "Schema/Pruning.swift").read_text()):
        workers[f"prune {table}"] = f"DELETE FROM {table} WHERE ctid = ANY ($1::tid[]) AND {column} < now()"
    if len(every) < 150 or len(workers) < 100:
        sys.exit("check-roles: hardly any statements are found: has their place changed?")
    return every, workers


def make_import_table(session: psycopg.Connection) -> None:
    session.execute((BACK_OFFICE / "ImportedGrants/SQL/create_import_table.sql").read_text())


def rehearse(session: psycopg.Connection, text: str) -> str | None:
    """Returns the reason why the server refuses the statement; None if the server accepts it."""
    count = max((int(number) for number in re.findall(r"\$(\d+)", text)), default=0)
    nulls = f"({', '.join(['NULL'] * count)})" if count else ""
    session.execute("SAVEPOINT rehearsal")
    # The rehearsal passes nulls, for which some statements would fail. A generic plan does not depend on the values.
    session.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    try:
        session.execute(f"PREPARE rehearsal AS {text.strip().rstrip(';')}")
        session.execute(f"EXPLAIN (COSTS OFF) EXECUTE rehearsal{nulls}")
    except errors.InsufficientPrivilege as error:
        return str(error).splitlines()[0]
    finally:
        session.execute("ROLLBACK TO SAVEPOINT rehearsal")
        session.execute("DEALLOCATE ALL")
    return None


def call(session: psycopg.Connection, text: str) -> str | None:
    session.execute("SAVEPOINT call")
    try:
        session.execute(text)
    except errors.InsufficientPrivilege as error:
        return str(error).splitlines()[0]
    finally:
        session.execute("ROLLBACK TO SAVEPOINT call")
    return None


def check_enough(role: str, rehearsed: dict[str, str], called: list[str]) -> None:
    with connect(role) as session:
        if "find_import_conflicts" in rehearsed:
            make_import_table(session)
        for name, text in rehearsed.items():
            if why := rehearse(session, text):
                faults.append(f"{role}: {name}.sql: {why}")
        for text in called:
            if why := call(session, text):
                faults.append(f"{role}: {text.split(chr(10))[0]}: {why}")
        session.rollback()


def check_refused(role: str, refused: list[str]) -> None:
    with connect(role) as session:
        # The session may write, so that only the missing rights can refuse the statement.
        session.read_only = False
        for text in refused:
            if call(session, text) is None:
                faults.append(f"{role}: it may {text}")
        session.rollback()


def check_least(role: str, rehearsed: dict[str, str], called: list[str]) -> int:
    """Revokes each right of a role in turn, in SQL transactions that are rolled back. Returns the number of rights."""
    with connect("postgres") as session:
        rights = session.execute(
            """SELECT relname, privilege_type FROM pg_class, aclexplode(relacl)
            WHERE relnamespace = 'public'::regnamespace AND grantee = %s::regrole ORDER BY 1, 2""", [role]).fetchall()
        for table, right in rights:
            # The text of a statement does not name the tables that a called function uses. So the check runs all of
            # `called`.
            concerned = [text for text in rehearsed.values() if re.search(rf"\b{table}\b", text)]
            session.execute(sql.SQL("REVOKE {} ON {} FROM {}").format(
                sql.SQL(right), sql.Identifier(table), sql.Identifier(role)))
            session.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
            make_import_table(session)
            needed = any(rehearse(session, text) for text in concerned) or any(call(session, text) for text in called)
            session.rollback()
            if not needed:
                faults.append(f"{role}: nothing needs {right} on {table}")
        return len(rights)


def main() -> None:
    with psycopg.connect(host=SERVER, dbname="postgres", user="postgres", autocommit=True) as session:
        session.execute(f"CREATE DATABASE {DATABASE}")
    for path, role in [(ROLES, "postgres")] * 2 + [(Path("schema.sql"), "receiptd_owner")] + [(ROLES, "postgres")] * 2:
        apply(path, role)

    every, workers = statements()
    others = {name: text for name, text in every.items() if name not in workers}
    looking = {name: text for name, text in every.items() if LOOKING.fullmatch(name)}
    check_enough("receiptd_worker", workers, WORKERS_CALLS)
    check_enough("receiptd_operator", every, WORKERS_CALLS + OPERATORS_CALLS)
    check_enough("receiptd_support", looking, SUPPORTS_CALLS)
    check_enough("receiptd_reader", {}, READERS_CALLS)
    for role, refused in REFUSED.items():
        check_refused(role, refused)
    count = check_least("receiptd_worker", workers, WORKERS_CALLS)
    count += check_least("receiptd_operator", others, [])
    count += check_least("receiptd_support", looking, SUPPORTS_CALLS)
    if count < 100:
        faults.append(f"only {count} rights are found")
    for text in faults:
        print(f"{ROLES}: {text}", file=sys.stderr)
    if faults:
        sys.exit(f"check-roles: {len(faults)} faults")


main()
