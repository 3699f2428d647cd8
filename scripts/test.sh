#!/usr/bin/env bash
# Everything that must hold: formatting, imports, documents, deploy files, and all tests. What CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

step "setup"
scripts/setup.sh promtool=prometheus
step "format"
scripts/check-format.sh
step "dependencies"
scripts/check-dependencies.sh
step "documents"
scripts/check-docs.sh
step "style"
scripts/check-style.sh
step "alert rules"
promtool check rules deploy/alerts.yaml >/dev/null
promtool test rules deploy/alerts.test.yaml >/dev/null
step "build"
swift build --build-tests "${build_flags[@]}"
# One group after another: tests that only compute would starve those that wait for other processes, and those each other.
tests() {
    step "tests: $1"
    shift
    # A test that hangs ends the run: what was printed shows which tests have started and not ended.
    timeout --kill-after=10s 25m swift test --skip-build --disable-xctest "$@" "${build_flags[@]}"
}
pure='^(FulfillmentTests|AppleProofsTests)\.'
flow='^(KafkaTests|PipelineTests)\.'
apple='^(AppStoreTests|AppStoreSimulationTests|PooledHTTPTests|OperationsTests)\.'
whole='^EndToEndTests\.'
chaos='^EndToEndTests\.Chaos'
tests "what only computes" --filter "$pure"
tests "Kafka and the flow" --filter "$flow"
tests "HTTP and Apple" --filter "$apple"
tests "the database and the commands" --skip "$pure" --skip "$flow" --skip "$apple" --skip "$whole"
tests "the whole" --filter "$whole" --skip "$chaos"
tests "the whole, among faults" --filter "$chaos"
step "done"
