#!/usr/bin/env bash
# Everything that must hold: formatting, imports, documents, deploy files, and all tests. What CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

# Of the tests; empty where there is no room for it in memory.
databases=
# A process and what it has started: a shell that is killed leaves its programs running.
end() {
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do end "$child"; done
    [[ $1 == $$ ]] || kill "$1" 2>/dev/null || true
}
finish() {
    end $$
    # A server of PostgreSQL may write for a moment after what started it has ended.
    [[ -z $databases ]] || rm -rf "$databases" 2>/dev/null || { sleep 2 && rm -rf "$databases"; }
}
trap finish EXIT

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

step "setup"
scripts/setup.sh promtool=prometheus python3-venv python3-jsonschema python3-yaml systemd-analyze=systemd curl \
    chromium chromedriver=chromium-driver
# What needs no build: beside it and the first tests, for they wait for one process at a time, and for the network.
checks() {
    local check
    for check in format dependencies docs schemas style deploy; do
        printf '== check-%s\n' "$check"
        scripts/check-$check.sh || return 1
    done
}
step "build, and what needs none"
mkdir -p .build
checks >.build/checks.log 2>&1 &
checking=$!
swift build --build-tests "${build_flags[@]}"
log=.build/tests.log
# One group after another: tests that only compute would starve those that wait for other processes, and those each other.
tests() {
    step "tests: $1"
    shift
    # The program itself: `swift test` would resolve the packages and plan the build again for each group. Into a pipe
    # it would print colours, which those who look for a line of it do not expect.
    # A test that hangs ends the run: what was printed shows which tests have started and not ended.
    TMPDIR=${databases:-${TMPDIR:-/tmp}} NO_COLOR=1 \
        timeout --kill-after=10s 25m .build/debug/receiptdPackageTests.xctest --testing-library swift-testing "$@" 2>&1 |
        tee "$log" || failed
}
# Thousands of lines are behind the first failure: what failed is told once more, at the end.
failed() {
    step "what failed"
    grep -aE '^.{0,4}✘ Test' "$log" | cut -c 1-4000 | tail -n 20
    exit 1
}
# Each test's database is hundreds of files that are made and removed within seconds: on a disk that costs as much as the
# tests themselves. In memory, where there is room (KiB) and programs may be started from. Only the tests' own files: others
# want device nodes, which many a /dev/shm refuses.
readonly room=10485760
in_memory() {
    local old
    # Of runs that were killed: what still runs has its lock.
    for old in /dev/shm/receiptd-tests.*; do
        if [[ -e $old/lock ]] && flock --nonblock "$old/lock" true 2>/dev/null; then rm -rf "$old"; fi
    done
    [[ $(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1) -ge $room &&
        $(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) -ge $room ]] || return 0
    databases=$(mktemp -d /dev/shm/receiptd-tests.XXXXXX) || return 0
    exec 9>"$databases/lock"
    flock 9
    # PostgreSQL does not run as root: another user goes through it.
    chmod 755 "$databases"
    if ! install -m 755 /bin/true "$databases/try" || ! "$databases/try"; then
        rm -rf "$databases"
        databases=
    fi
}
in_memory
printf '== databases in %s\n' "${databases:-${TMPDIR:-/tmp}}"
pure='^(FulfillmentTests|AppleProofsTests)\.'
flow='^(KafkaTests|PipelineTests)\.'
apple='^(AppStoreTests|AppStoreSimulationTests|PooledHTTPTests|OperationsTests)\.'
plans='^LedgerTests\.(Command)?PlanTests'
whole='^EndToEndTests\.'
# These have little time for what they do, or fill the machine: not beside the others.
stopping='^EndToEndTests\.EndToEnd/stopping'
chaos='^EndToEndTests\.Chaos'
browser='^EndToEndTests\.((Console|WorkerPage)Browser|ConsoleTicket)Tests'
tests "what only computes" --filter "$pure"
# One process at a time, beside tests that mostly wait: what is counted is no time.
packages() {
    printf '== check-package\n'
    scripts/check-package.sh || return 1
    printf '== what a submission costs\n'
    scripts/check-cost.sh
}
packages >.build/packages.log 2>&1 &
packing=$!
tests "Kafka and the flow" --filter "$flow"
wait "$checking" || { cat .build/checks.log && exit 1; }
cat .build/checks.log
tests "HTTP and Apple" --filter "$apple"
wait "$packing" || { cat .build/packages.log && exit 1; }
cat .build/packages.log
# Each has a database of its own. All of them at once, as Swift Testing begins them, would wait for one another.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=12 tests "the database and the commands" \
    --skip "$pure" --skip "$flow" --skip "$apple" --skip "$plans" --skip "$whole"
# Tables of 100,000 rows keep a disk busy: others would wait for it.
tests "the plans of statements" --filter "$plans"
# Each outcome and each dead letter that they see is held against docs/schemas.
export RECEIPTD_TEST_EVENTS=$PWD/.build/test-events.jsonl
rm -f "$RECEIPTD_TEST_EVENTS"
# It mostly waits for Debian's mirror.
scripts/check-installed.sh >.build/installed.log 2>&1 &
installing=$!
tests "the whole" --filter "$whole" --skip "$stopping" --skip "$chaos" --skip "$browser"
printf '== check-installed\n'
wait "$installing" || { cat .build/installed.log && exit 1; }
cat .build/installed.log
RECEIPTD_TEST_AXE=$(compgen -G "$PWD/.build/deploy-tools/lib/python3*/site-packages/axe_core_python/axe.min.js")
export RECEIPTD_TEST_AXE RECEIPTD_TEST_SCREENSHOTS=$PWD/.build/console-screenshots
# All of them mostly wait for other programs.
scripts/check-examples.sh >.build/examples.log 2>&1 &
trying=$!
scripts/check-commands.sh >.build/commands.log 2>&1 &
showing=$!
tests "the pages in a browser" --filter "$browser"
printf '== check-examples\n'
wait "$trying" || { cat .build/examples.log && exit 1; }
cat .build/examples.log
printf '== check-commands\n'
wait "$showing" || { cat .build/commands.log && exit 1; }
cat .build/commands.log
# Both mostly wait for what was killed to come back.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=2 log=.build/stopping.log \
    tests "the whole, while it stops" --filter "$stopping" >.build/stopping-said.log 2>&1 &
ending=$!
tests "the whole, among faults" --filter "$chaos"
wait "$ending" || { cat .build/stopping-said.log && exit 1; }
cat .build/stopping-said.log
step "histories"
# The kept ones, and up to twenty that nobody has seen, of those that begin within 20 s. A fresh one that differs has to differ again: this machine may be busy.
TMPDIR=${databases:-${TMPDIR:-/tmp}} timeout --kill-after=10s 8m .build/debug/Histories \
    --kept Tests/Histories/Kept --keep .build/histories --count 20 --seconds 20 --again 2 --width 20 --shrink 0
step "events that were seen"
scripts/check-schemas.sh --all-kinds "$RECEIPTD_TEST_EVENTS"
step "done"
