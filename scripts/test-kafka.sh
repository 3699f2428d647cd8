#!/usr/bin/env bash
# Runs the whole-system tests and the chaos load on a real broker, with new topics and groups (docs/decisions/0018).
# usage: scripts/test-kafka.sh HOST:PORT[,HOST:PORT…] [FILTER]   FILTER: a regular expression for tests of EndToEndTests
# TEST_KAFKA_PROPERTIES: further properties of all clients, as in KAFKA_PROPERTIES (such as security.protocol).
# CHAOS_SECONDS and CHAOS_SEED: as for scripts/chaos.sh.
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
    # The browser tests need no real broker, and `make test` runs them.
    tests --filter '^EndToEndTests\.' --skip '^EndToEndTests\.(Chaos|(Console|WorkerPage)BrowserTests)'
    tests --filter '^EndToEndTests\.Chaos/faults'
fi
