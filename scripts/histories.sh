#!/usr/bin/env bash
# Plays histories that are drawn, and kept ones, on the worker, and judges them by the contract (docs/histories.md).
# usage: scripts/histories.sh [--debug] [--count N] [--seed N] [--width N] [--kafka HOST:PORT] [--kept FILE] ...
# Release builds are played, three times as fast; --debug plays debug builds, into which faults can be planted.
# What fails is shrunk and written to .build/histories.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

kind=release
if [[ ${1:-} == --debug ]]; then kind=debug && shift; fi
scripts/setup.sh
for product in receiptd Histories; do swift build -c "$kind" "${build_flags[@]}" --product "$product"; done
# Databases in memory where there is memory: they last as long as a history.
if [[ -z ${TMPDIR:-} && -w /dev/shm ]]; then
    TMPDIR=$(mktemp -d /dev/shm/histories.XXXXXX)
    export TMPDIR
    chmod 755 "$TMPDIR"
    trap 'rm -rf "$TMPDIR"' EXIT
fi
".build/$kind/Histories" --kept Tests/Histories/Kept --keep .build/histories "$@"
