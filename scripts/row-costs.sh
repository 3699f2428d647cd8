#!/usr/bin/env bash
# Measures the processor time of PostgreSQL for each part of a batch (Benchmarks/RowCosts). The program runs whole
# batches with the worker's own statements, and in turn batches that lack a part. Each round runs all variants within a
# second or two, so other work of the machine hardly changes the ratios.
# usage: scripts/row-costs.sh [ROUNDS [SIZE,SIZE…] [VARIANT…]]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-30}
sizes=${2:-1,8,64,256}
shift "$(($# < 2 ? $# : 2))"
# The Go libraries come from Debian packages, so the build downloads nothing else.
packages=(go=golang-go)
dpkg -s golang-github-jackc-pgx-v4-dev >/dev/null 2>&1 || packages+=(golang-github-jackc-pgx-v4-dev)
scripts/setup.sh "${packages[@]}"
readonly program=$PWD/.build/row-costs
mkdir -p .build
(cd Benchmarks/RowCosts && GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$program" .)

programs=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -n 1)
readonly programs
as=()
if [[ $EUID -eq 0 ]]; then as=(runuser -u postgres --); fi
scratch=$(mktemp -d)
chmod 777 "$scratch"
data=$scratch/data
stop() {
    "${as[@]}" "$programs/pg_ctl" --pgdata "$data" --mode immediate stop >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap stop EXIT
port=$((20000 + RANDOM % 10000))
"${as[@]}" "$programs/initdb" --pgdata "$data" --username postgres --auth trust --encoding UTF8 --locale C >/dev/null
"${as[@]}" "$programs/pg_ctl" --pgdata "$data" --wait --log "$data/log" \
    --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=100 -c autovacuum_naptime=5s" start >/dev/null
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGOPTIONS='-c client_min_messages=warning'
run() { psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$@" >/dev/null; }
run --dbname postgres --command 'CREATE DATABASE template_of_batches'
run --dbname template_of_batches --file schema.sql
# With these rows the indexes are as deep as a small studio's, and the measured rows are not the first rows of a table.
run --dbname template_of_batches <<SQL
CREATE TABLE outcomes_$(date -u +%Y%m%d) PARTITION OF outcomes FOR VALUES FROM ('$(date -u +%F)') TO ('$(date -u -d tomorrow +%F)');
CREATE TABLE yardstick_grants (
    transaction_id text PRIMARY KEY, original_transaction_id text, player_id text NOT NULL, bundle_id text NOT NULL,
    product_id text NOT NULL, quantity integer NOT NULL, environment text NOT NULL, purchased_at timestamptz,
    submission_id text NOT NULL, granted_at timestamptz NOT NULL);
SET session_replication_role = replica;
CREATE TEMPORARY TABLE made AS
    SELECT '5' || lpad((n * 7919)::text, 14, '0') AS id, 'old-' || n / 10 AS player FROM generate_series(1, 40000) AS n;
INSERT INTO claims (original_transaction_id, player_id, bundle_id) SELECT id, player, 'com.example.benchmark' FROM made;
INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
    submission_id, granted_at, submission_key, kind, event, catalog_version)
SELECT id, id, player, 'com.example.benchmark', 'com.example.benchmark.gold', 1, 'Production', now(), 's-' || id, now(),
    gen_random_uuid(), 'consumable', convert_to(repeat('e', 600), 'UTF8'), 1
FROM made;
INSERT INTO yardstick_grants
SELECT transaction_id, original_transaction_id, player_id, bundle_id, product_id, 1, environment, purchased_at, submission_id, granted_at
FROM grants;
SQL
run --dbname template_of_batches --command 'VACUUM ANALYZE'
URI=postgresql://postgres@127.0.0.1:$port SOURCES=Sources/Ledger TEMPLATE=template_of_batches "$program" "$rounds" "$sizes" "$@"
