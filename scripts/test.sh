#!/usr/bin/env bash
# Checks formatting, imports, documents and deploy files, and runs all tests. CI runs this script.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

# The folder for the tests' databases in memory; empty if memory has no room for them.
databases=
# Ends a process and the processes that it started, because a killed shell leaves its programs running. This shell
# itself goes on.
end() {
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do end "$child"; done
    [[ $1 == $$ ]] || kill "$1" 2>/dev/null || true
}
finish() {
    end $$
    # A PostgreSQL server may write for a moment after the process that started the server has ended.
    [[ -z $databases ]] || rm -rf "$databases" 2>/dev/null || { sleep 2 && rm -rf "$databases"; }
}
trap finish EXIT

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

step "setup"
scripts/setup.sh promtool=prometheus python3-venv python3-jsonschema python3-yaml systemd-analyze=systemd curl \
    chromium-headless-shell chromedriver=chromium-driver
# Runs the checks that need no build. They run beside the build and the first tests, because they use one processor at a
# time or wait for the network.
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
# Runs one group of tests. The groups run in turn: tests that only compute would starve tests that wait for other
# processes, and tests that wait would starve one another.
tests() {
    step "tests: $1"
    shift
    # This runs the test program itself, because `swift test` would resolve the packages and plan the build again for
    # each group. NO_COLOR keeps colours out of the log, because programs search the log for lines without colours. A
    # test that hangs ends the run at the time limit. The log then shows which tests have started and not ended.
    TMPDIR=${databases:-${TMPDIR:-/tmp}} NO_COLOR=1 \
        timeout --kill-after=10s 25m .build/debug/receiptdPackageTests.xctest --testing-library swift-testing "$@" 2>&1 |
        tee "$log" || failed
}
# Prints the failures again at the end, because thousands of lines may follow the first failure.
failed() {
    step "what failed"
    grep -aE '^.{0,4}✘ Test' "$log" | cut -c 1-4000 | tail -n 20
    exit 1
}
# The tests' databases are in memory if memory has this room (in KiB) and programs can run from there. Each test's
# database is hundreds of files, which the test makes and removes within seconds. On a disk these files would cost as
# much time as the tests themselves. Other programs' temporary files stay on the disk, because some are device nodes,
# which /dev/shm often refuses.
readonly room=10485760
in_memory() {
    local old
    # Removes the folders of killed runs. A run that still lives holds the lock of its folder.
    for old in /dev/shm/receiptd-tests.*; do
        if [[ -e $old/lock ]] && flock --nonblock "$old/lock" true 2>/dev/null; then rm -rf "$old"; fi
    done
    [[ $(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1) -ge $room &&
        $(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) -ge $room ]] || return 0
    databases=$(mktemp -d /dev/shm/receiptd-tests.XXXXXX) || return 0
    exec 9>"$databases/lock"
    flock 9
    # PostgreSQL does not run as root, so its user must be able to enter the folder.
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
# These tests have short time limits or fill the machine, so they do not run beside other tests.
stopping='^EndToEndTests\.EndToEnd/stopping'
chaos='^EndToEndTests\.Chaos'
tests "what only computes" --filter "$pure"
# Runs two checks, one after the other, beside tests that mostly wait. check-cost counts and measures no time, so the
# tests hardly disturb its result.
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
# Some of these tests have time limits of seconds. If all tests began at once, their first steps would take longer.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=12 tests "HTTP and Apple" --filter "$apple"
wait "$packing" || { cat .build/packages.log && exit 1; }
cat .build/packages.log
# Runs three checks, one after the other, beside the tests. The checks mostly wait for Debian's mirror or for other
# programs, and take minutes, so they begin early.
users() {
    local check
    for check in installed examples commands; do
        printf '== check-%s\n' "$check"
        scripts/check-$check.sh || return 1
    done
}
users >.build/users.log 2>&1 &
using=$!
# Each test has its own database. Swift Testing would begin all tests at once, and they would wait for one another.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=12 tests "the database and the commands" \
    --skip "$pure" --skip "$flow" --skip "$apple" --skip "$plans" --skip "$whole"
# Tables of 100,000 rows keep the disk busy, and other tests would wait for the disk.
tests "the plans of statements" --filter "$plans"
# The tests write each outcome and each dead letter that they see into this file. A later step checks the file against
# docs/schemas.
export RECEIPTD_TEST_EVENTS=$PWD/.build/test-events.jsonl
rm -f "$RECEIPTD_TEST_EVENTS"
RECEIPTD_TEST_AXE=$(compgen -G "$PWD/.build/deploy-tools/lib/python3*/site-packages/axe_core_python/axe.min.js")
export RECEIPTD_TEST_AXE
tests "the whole" --filter "$whole" --skip "$stopping" --skip "$chaos"
wait "$using" || { cat .build/users.log && exit 1; }
cat .build/users.log
# Plays the kept histories, and up to twenty new ones that begin within 20 s. If the worker differs from the model in a
# new history, the history fails only if the worker differs again in a second or third play, because this machine may be
# busy.
histories() {
    step "histories"
    TMPDIR=${databases:-${TMPDIR:-/tmp}} timeout --kill-after=10s 8m .build/debug/Histories \
        --kept Tests/Histories/Kept --keep .build/histories --count 20 --seconds 20 --again 2 --width 20 --shrink 0
}
# These groups and the histories run beside each other, because all mostly wait for killed processes to come back.
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=2 log=.build/stopping.log \
    tests "the whole, while it stops" --filter "$stopping" >.build/stopping-said.log 2>&1 &
ending=$!
histories >.build/histories.log 2>&1 &
playing=$!
tests "the whole, among faults" --filter "$chaos"
wait "$ending" || { cat .build/stopping-said.log && exit 1; }
cat .build/stopping-said.log
wait "$playing" || { cat .build/histories.log && exit 1; }
cat .build/histories.log
step "events that were seen"
scripts/check-schemas.sh --all-kinds "$RECEIPTD_TEST_EVENTS"
step "done"
