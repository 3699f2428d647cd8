#!/usr/bin/env bash
# The whole-system tests and the chaos load on a real broker, in topics and groups of their own (docs/decisions/0018).
# usage: scripts/test-kafka.sh HOST:PORT[,HOST:PORT…] [FILTER]   FILTER: of swift test, within EndToEndTests
# TEST_KAFKA_PROPERTIES: what clients need besides, as in KAFKA_PROPERTIES (security.protocol and its like).
# CHAOS_SECONDS and CHAOS_SEED as for scripts/chaos.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

if [[ -z ${1:-} ]]; then
    sed -n '3,5s/^# //p' "$0" >&2
    exit 64
fi
export TEST_KAFKA_BOOTSTRAP_SERVERS=$1

scripts/setup.sh
swift build --build-tests "${build_flags[@]}"
tests() {
    timeout --kill-after=10s 60m swift test --skip-build --disable-xctest "$@" "${build_flags[@]}"
}
if [[ -n ${2:-} ]]; then
    tests --filter "^EndToEndTests\..*$2"
else
    # What a browser sees needs no broker of its own: make test has it.
    tests --filter '^EndToEndTests\.' --skip '^EndToEndTests\.(Chaos|(Console|WorkerPage)BrowserTests)'
    tests --filter '^EndToEndTests\.Chaos/faults'
fi
