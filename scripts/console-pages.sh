#!/usr/bin/env bash
# Measures the time of each kind of the console's pages on a PostgreSQL with many rows. Fails if a page takes 0.3 s or
# more. RECEIPTD names a program to measure in place of the one that scripts/release.sh builds.
#
# BESIDE is a command that measures a worker on the database $KEPT of the same PostgreSQL server. The script runs this
# command alone, then beside a reader who requests the slowest pages, and repeats both TRIES times (3). PAUSE is the
# reader's time on each page in seconds (1).
# usage: scripts/console-pages.sh [GRANTS [ROWS [FOLDER]]]     10,000,000 grants, and 100,000 rows in each list;
#                                                              FOLDER keeps the database
set -euo pipefail
cd "$(dirname "$0")/.."

readonly grants=${1:-10000000} rows=${2:-100000}
readonly most=0.3
scripts/setup.sh curl=curl
[[ -n ${RECEIPTD-} ]] || scripts/release.sh
receiptd=${RECEIPTD:-.build/shipped/release/receiptd}
programs=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -n 1)
as=()
if [[ $EUID -eq 0 ]]; then as=(runuser -u postgres --); fi

scratch=$(mktemp -d)
folder=${3:-$scratch}
data=$folder/data
console=
reader=
stop() {
    [[ -z $reader ]] || kill "$reader" 2>/dev/null || true
    [[ -z $console ]] || kill "$console" 2>/dev/null || true
    "${as[@]}" "$programs/pg_ctl" --pgdata "$data" --mode fast --wait stop >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap stop EXIT
mkdir -p "$folder"
chmod 777 "$scratch" "$folder"
port=$((20000 + RANDOM % 10000))
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres
query() { psql --no-psqlrc --quiet -At --set ON_ERROR_STOP=1 --set grants="$grants" --set rows="$rows" "$@"; }

is_loaded=
if [[ -e $data ]]; then is_loaded=yes; fi
[[ -n $is_loaded ]] ||
    "${as[@]}" "$programs/initdb" --pgdata "$data" --username postgres --auth trust --encoding UTF8 --locale C >/dev/null
"${as[@]}" "$programs/pg_ctl" --pgdata "$data" --wait --log "$data/log" \
    --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=1GB -c max_wal_size=8GB" \
    start >/dev/null
if [[ -z $is_loaded ]]; then
    query --file schema.sql >/dev/null 2>&1
    query --file scripts/console-pages.sql >/dev/null
    # schema.sql creates the indexes again that scripts/console-pages.sql dropped.
    query --file schema.sql >/dev/null 2>&1
    query --command 'VACUUM ANALYZE'
fi

http=$((30000 + RANDOM % 10000))
user=ann:operate:$("$receiptd" console password <<<'a long password')
DATABASE_URL=postgresql://postgres@127.0.0.1:$port/postgres CONSOLE_USERS=$user CONSOLE_HTTP_PORT=$http LOG_LEVEL=error \
    "$receiptd" console &
console=$!
until curl --silent --fail --output /dev/null "http://127.0.0.1:$http/livez"; do sleep 0.1; done
jar=$scratch/jar
curl --silent --fail --output /dev/null --cookie-jar "$jar" --data name=ann --data-urlencode 'password=a long password' \
    "http://127.0.0.1:$http/sign-in"

failed=0
ask() { curl --silent --fail --output /dev/null --cookie "$jar" --write-out '%{time_total}' "http://127.0.0.1:$http$1"; }
# page NAME ADDRESS prints the time of the first request, and the fastest and slowest time of five more requests.
page() {
    local first fastest=1000 slowest=0 again
    first=$(ask "$2") || { echo "$1 ($2) is no page" >&2 && exit 1; }
    for _ in 1 2 3 4 5; do
        again=$(ask "$2")
        fastest=$(awk -v a="$fastest" -v b="$again" 'BEGIN { print (a < b ? a : b) }')
        slowest=$(awk -v a="$slowest" -v b="$again" 'BEGIN { print (a > b ? a : b) }')
    done
    printf '| %s | `%s` | %.3f | %.3f | %.3f |\n' "$1" "$2" "$first" "$fastest" "$slowest"
    if awk -v a="$slowest" -v b="$first" -v most="$most" 'BEGIN { exit !(a >= most || b >= most) }'; then failed=1; fi
}
printf '| page | address | first, s | fastest of five, s | slowest of five, s |\n| --- | --- | --- | --- | --- |\n'
for span in hour day month; do page "traffic, last $span" "/?span=$span"; done
for list in held parked unclaimed subscriptions refunds changes; do
    page "$list" "/$list"
    for number in 10 100; do page "$list, page $number" "/$list?page=$number"; done
done
page "dead letters" /dead-letters
page "dead letters, one reason" "/dead-letters?reason=too_large"
for list in held parked unclaimed subscriptions refunds; do page "$list, an app" "/$list?bundle=com.example.chess"; done
page "held, a reason" "/held?reason=daily_limit"
page "held, an app and a reason, page 20" "/held?bundle=com.example.chess&reason=retired_product&page=20"
page "parked, a reason" "/parked?reason=doubt"
page "unclaimed, a reason" "/unclaimed?reason=bought_before"
page "subscriptions, a state" "/subscriptions?reason=grace_period"
page "refunds, a state" "/refunds?reason=reversed"
for list in held parked refunds; do
    page "$list, a player" "/$list?player=player-77"
    page "$list, an unknown player" "/$list?player=nobody"
done
for list in held unclaimed refunds; do
    page "$list, a product" "/$list?product=com.example.chess.gems.1"
    page "$list, an unknown product" "/$list?product=nothing"
done
for list in held parked unclaimed; do page "$list, over a day old" "/$list?age=over-day"; done
page "refunds, under a week old" "/refunds?age=under-week"
page "held, all filters" "/held?bundle=com.example.chess&reason=retired_product&product=com.example.chess.gems.1&age=over-day"

new=$(query --command 'SELECT transaction_id FROM grants ORDER BY granted_at DESC LIMIT 1')
submission=$(query --command "SELECT submission_id FROM grants WHERE transaction_id = '$new'")
event=$(query --command "SELECT convert_from(event, 'UTF8')::json ->> 'event_id' FROM grants WHERE transaction_id = '$new'")
page "a purchase" "/search?q=$new"
page "a purchase of a year ago" "/search?q=$(query --command "SELECT transaction_id FROM grants WHERE player_id = 'player-heavy' LIMIT 1")"
page "a submission" "/search?q=$submission"
page "a submission that is refused" "/search?q=r-${submission#s-}"
page "a player with ten purchases" "/search?q=player-4711"
page "a player with 3,000" "/search?q=player-heavy"
page "a player with 3,000, page 30" "/search?q=player-heavy&page=30"
page "a subscription" "/search?q=300000000001000"
page "a held purchase" "/search?q=400000000000077"
page "a parked submission" "/search?q=p-77"
page "an unclaimed purchase" "/search?q=500000000000077"
page "what was refused here" "/search?q=l-77"
page "a record that was no submission" "/search?q=receipt-submissions/3/780"
page "an order" "/search?q=order-${submission#s-}"
page "a parked order" "/search?q=waiting-p-77"
page "an event" "/search?q=$event"
page "an unknown id" "/search?q=nobody-knows-it"
page "an unknown event" "/search?q=01234567-89ab-5def-8123-456789abcdef"

page "confirm: release one" "/confirm?change=release&id=400000000000077"
page "confirm: release all" "/confirm?change=release"
page "confirm: reject an app's" "/confirm?change=reject-held&bundle=com.example.chess"
page "confirm: retry all that is parked" "/confirm?change=retry"
page "confirm: retry all that is unclaimed" "/confirm?change=retry-unclaimed"
page "confirm: revoke" "/confirm?change=revoke&id=$new"
page "sessions" /sessions

# Requests the pages that cost PostgreSQL most, one after the other, without end.
leaf() {
    while true; do
        for address in /held "/held?player=nobody" /parked "/unclaimed?product=nothing" /dead-letters "/?span=day" \
            "/search?q=order-${submission#s-}" "/search?q=$event" "/search?q=nobody-knows-it" \
            "/search?q=01234567-89ab-5def-8123-456789abcdef" "/confirm?change=release"; do
            ask "$address" >/dev/null || true
            sleep "${PAUSE-1}"
        done
    done
}
if [[ -n ${BESIDE-} ]]; then
    query --command 'DROP DATABASE IF EXISTS receiptd_benchmark' --command 'CREATE DATABASE receiptd_benchmark'
    export KEPT=postgresql://postgres@127.0.0.1:$port/receiptd_benchmark
    for ((try = 0; try < ${TRIES-3}; try++)); do
        echo "alone: $(bash -c "$BESIDE")"
        leaf &
        reader=$!
        echo "beside: $(bash -c "$BESIDE")"
        kill "$reader"
        wait "$reader" 2>/dev/null || true
    done
fi
exit "$failed"
