#!/usr/bin/env bash
# The tests under the thread sanitizer, which ends the run at the first data race. In a build of its own: .build stays.
# usage: scripts/tsan.sh [REGEX]   the tests to run; without it, every suite that keeps its threads in one process
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

# In turns, as in scripts/test.sh: under the sanitizer what computes would starve what waits all the more. The suites that
# are left out start processes of their own, which the sanitizer does not see.
turns=('^(FulfillmentTests|OperationsTests)\.' '^KafkaTests\.' '^PipelineTests\.' '^(PostgresTests|LedgerTests)\.' '^AppStoreTests\.')
if [[ -n ${1:-} ]]; then turns=("$1"); fi
tsan_flags=(--sanitize=thread --scratch-path .build-tsan "${build_flags[@]}")

scripts/setup.sh
swift build --build-tests "${tsan_flags[@]}"
# Longer than what lies before it takes here, and shorter than requests wait in front of Apple.
export TEST_HOLD_SECONDS=9
export TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/tsan-suppressions.txt${TSAN_OPTIONS:+ $TSAN_OPTIONS}"
# All tests of a turn at once would outlast their time limits under the sanitizer.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
failed=0
for filter in "${turns[@]}"; do
    swift test --skip-build --disable-xctest "${tsan_flags[@]}" --filter "$filter" || failed=1
done
exit "$failed"
