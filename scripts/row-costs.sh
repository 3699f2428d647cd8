#!/usr/bin/env bash
# What PostgreSQL's processor spends on the rows of a batch: whole batches, and batches that lack one kind of row, in turn. Batches
# are made up by SQL itself: the shares matter, not the seconds.
# usage: scripts/row-costs.sh [ROUNDS [SECONDS]]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-3}
seconds=${2:-6}
scripts/setup.sh pgbench=postgresql-contrib
programs=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -n 1)
readonly programs rounds seconds
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
    --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=50" start >/dev/null
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --file schema.sql >/dev/null 2>&1
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 <<'EOF'
CREATE SEQUENCE ids CACHE 100;
CREATE TABLE appended (id bigserial, source_partition integer NOT NULL, record_key text NOT NULL, event bytea NOT NULL);
CREATE FUNCTION name_of(id bigint) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$ SELECT md5(id::text)::uuid $$;
EOF

grants="granted AS (
    INSERT INTO grants (transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment,
        purchased_at, submission_id, granted_at, submission_key, kind, event, catalog_version)
    SELECT id, id, 'player-' || n % 5000, 'com.example.game', 'com.example.game.gems', 1, 'Production', now(), 's-' || id,
        now(), name, 'consumable', convert_to(repeat('e', 600), 'UTF8'), 1
    FROM batch ON CONFLICT DO NOTHING RETURNING transaction_id
)"
outcomes=$(cat <<'SQL'
decided AS (
    INSERT INTO outcomes (day, source_topic, source_partition, source_offset, content, submission_key, submission_id,
        player_id, bundle_id, proof, granted_transaction_ids, decided_at, "story")
    SELECT current_date, 'receipt-submissions', n % 64, n, substr(sha256(id::bytea), 1, 16), name, 's-' || id,
        'player-' || n % 5000, 'com.example.game', sha256(id::bytea), ARRAY[id], now(), repeat('s', 200)
    FROM batch ON CONFLICT DO NOTHING RETURNING 1
)
SQL
)
outbox="queued AS (
    INSERT INTO outbox (event_id, source_topic, source_partition, ordinal, record_key, transaction_id)
    SELECT name, 'receipt-submissions', n % 64, 0, 'player-' || n % 5000, id FROM batch ON CONFLICT DO NOTHING
)"
deletes="acknowledged AS (DELETE FROM outbox WHERE event_id = ANY (ARRAY(SELECT name_of(n) FROM generate_series(CAST(:from AS bigint), CAST(:to AS bigint)) AS n)))"
appends="queued AS (
    INSERT INTO appended (source_partition, record_key, event)
    SELECT n % 64, 'player-' || n % 5000, convert_to(repeat('e', 600), 'UTF8') FROM batch
)"
proofs="proven AS (
    INSERT INTO proofs (proof, evidence, transaction_ids, seen_on)
    SELECT sha256(id::bytea), convert_to(repeat('p', 300), 'UTF8'), ARRAY[id], current_date FROM batch
    ON CONFLICT DO NOTHING
)"
# Ids ascend as little as Apple's do.
batch="batch AS MATERIALIZED (SELECT n, name_of(n) AS name, '4' || lpad((n * 7919 % 1000000000)::text, 14, '0') AS id
    FROM generate_series(CAST(:next AS bigint), CAST(:next AS bigint) + CAST(:size AS bigint) - 1) AS n)"
claims="WITH $batch INSERT INTO claims (original_transaction_id, player_id, bundle_id)
    SELECT id, 'player-' || n % 5000, 'com.example.game' FROM batch ON CONFLICT DO NOTHING;"

# write NAME CLAIMS PART...
write() {
    local name=$1 first=$2 parts
    shift 2
    printf -v parts ', %s' "$@"
    printf '%s\n' "SELECT nextval('ids') * 100 AS next \\gset" BEGIN\; "$first" \
        "WITH $batch$parts SELECT count(*) FROM batch;" COMMIT\; '\set from :next' '\set to :next + :size - 1' >"$scratch/$name.sql"
    # pgbench takes a statement of several lines, but no meta command behind one on its line.
}
write whole "$claims" "$grants" "$outcomes" "$outbox" "$deletes" "$proofs"
write "without claims" "" "$grants" "$outcomes" "$outbox" "$deletes" "$proofs"
write "without an outbox" "$claims" "$grants" "$outcomes" "$proofs"
write "outbox appended to" "$claims" "$grants" "$outcomes" "$appends" "$proofs"
write "without proofs" "$claims" "$grants" "$outcomes" "$outbox" "$deletes"
write "without outcomes" "$claims" "$grants" "$outbox" "$deletes" "$proofs"
write "only grants" "" "$grants"
names=(whole "without claims" "without an outbox" "outbox appended to" "without proofs" "without outcomes" "only grants")

server=$(head -n 1 "$data/postmaster.pid")
# Of backends that ended, which are all of pgbench's: hundredths of a second.
spent() { awk '{ print $16 + $17 }' "/proc/$server/stat"; }
measure() {
    local before after done
    before=$(spent)
    done=$(PGOPTIONS='-c plan_cache_mode=force_generic_plan' pgbench --no-vacuum --protocol prepared --client 8 --jobs 1 \
        --time "$seconds" --define size="$2" --define from=0 --define to=0 --file "$scratch/$1.sql" 2>&1 |
        sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p')
    # The last ones end behind pgbench.
    sleep 0.5
    after=$(spent)
    printf '%s|%s|%s\n' "$2" "$1" "$(awk -v s="$((after - before))" -v n="$((done * $2))" 'BEGIN { printf "%.4f", s * 10 / n }')"
}
for size in 1 8 64; do
    for ((round = 0; round < rounds; round++)); do
        for name in "${names[@]}"; do measure "$name" "$size"; done
    done
done | tee "$scratch/all" >/dev/null
echo "rows of a batch | processor s / 1,000 in batches of 1 | of 8 | of 64 | to a whole one"
for name in "${names[@]}"; do
    awk -F'|' -v name="$name" '
        { sum[$2, $1] += $3; count[$2, $1]++ }
        function mean(n, s) { return sum[n, s] / count[n, s] }
        END {
            printf "%s | %.3f | %.3f | %.3f | %.2f, %.2f, %.2f\n", name, mean(name, 1), mean(name, 8), mean(name, 64),
                mean(name, 1) / mean("whole", 1), mean(name, 8) / mean("whole", 8), mean(name, 64) / mean("whole", 64)
        }' "$scratch/all"
done
