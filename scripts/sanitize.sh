#!/usr/bin/env bash
# Runs the tests under a sanitizer of the compiler, which ends a group of tests at the first fault. The thread sanitizer
# finds data races, and the address sanitizer finds accesses beyond or after an allocation. The build is in
# .build-thread or .build-address, so .build stays as it is.
# usage: scripts/sanitize.sh thread|address [REGEX]   the tests to run; without it, every suite that keeps its threads
#                                                     in one process
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

sanitizer=${1:-}
case $sanitizer in
thread | address) ;;
*)
    echo "usage: $0 thread|address [REGEX]" >&2
    exit 64
    ;;
esac

# The groups run in turn, as in scripts/test.sh. Under a sanitizer, tests that compute would starve tests that wait even
# more. The tests of PostgreSQL's plans have a turn of their own: while others create tables, an idle session may miss
# invalidations, and then PostgreSQL makes all of the session's plans anew. The other suites are left out, because they
# start processes, which the sanitizer does not see.
plans='LedgerTests\.(Command)?PlanTests'
turns=('^(FulfillmentTests|OperationsTests)\.' '^KafkaTests\.' '^PipelineTests\.' "^(?!$plans)(PostgresTests|LedgerTests)\."
    "^$plans" '^AppStoreTests\.')
# These tests parse bytes from outside, each in one thread, in which there is no data race to find.
[[ $sanitizer == thread ]] || turns+=('^(AppleProofsTests|AppStoreSimulationTests|PooledHTTPTests|ReceiptdTests)\.')
if [[ -n ${2:-} ]]; then turns=("$2"); fi
flags=("--sanitize=$sanitizer" --scratch-path ".build-$sanitizer" "${build_flags[@]}")

scripts/setup.sh
swift build --build-tests "${flags[@]}"
# The seconds of `Retry-After` in a test: long enough for the test's first steps under a sanitizer, and shorter than a
# request may wait before it is sent to Apple.
export TEST_HOLD_SECONDS=9
export TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/tsan-suppressions.txt${TSAN_OPTIONS:+ $TSAN_OPTIONS}"
# Swift's runtime and librdkafka keep memory until the process ends, which counts as a leak.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# Under a sanitizer, all tests of a group at once would exceed their time limits.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
failed=0
for filter in "${turns[@]}"; do
    swift test --skip-build --disable-xctest "${flags[@]}" --filter "$filter" || failed=1
done
exit "$failed"
