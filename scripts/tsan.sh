#!/usr/bin/env bash
# Runs the tests under the thread sanitizer, which ends a group of tests at the first data race. The build is in
# .build-tsan, so .build stays as it is.
# usage: scripts/tsan.sh [REGEX]   the tests to run; without it, every suite that keeps its threads in one process
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

# The groups run in turn, as in scripts/test.sh. Under the sanitizer, tests that compute would starve tests that wait
# even more. The tests of PostgreSQL's plans have a turn of their own: while others create tables, an idle session may
# miss invalidations, and then PostgreSQL makes all of the session's plans anew. The other suites are left out, because
# they start processes, which the sanitizer does not see.
plans='LedgerTests\.(Command)?PlanTests'
turns=('^(FulfillmentTests|OperationsTests)\.' '^KafkaTests\.' '^PipelineTests\.' "^(?!$plans)(PostgresTests|LedgerTests)\."
    "^$plans" '^AppStoreTests\.')
if [[ -n ${1:-} ]]; then turns=("$1"); fi
tsan_flags=(--sanitize=thread --scratch-path .build-tsan "${build_flags[@]}")

scripts/setup.sh
swift build --build-tests "${tsan_flags[@]}"
# This hold is longer than the steps before it take under the sanitizer. It is shorter than a request may wait before it
# is sent to Apple.
export TEST_HOLD_SECONDS=9
export TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/tsan-suppressions.txt${TSAN_OPTIONS:+ $TSAN_OPTIONS}"
# Under the sanitizer, all tests of a group at once would exceed their time limits.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
failed=0
for filter in "${turns[@]}"; do
    swift test --skip-build --disable-xctest "${tsan_flags[@]}" --filter "$filter" || failed=1
done
exit "$failed"
