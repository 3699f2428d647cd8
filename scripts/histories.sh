#!/usr/bin/env bash
# Plays random and kept histories on the worker, and judges the results by the contract (docs/histories.md).
# usage: scripts/histories.sh [--debug] [--count N] [--seed N] [--width N] [--kafka HOST:PORT] [--kept FILE] ...
# By default the script plays release builds, which are three times as fast. With --debug it plays debug builds, which
# can have planted faults. The program shrinks a history that fails, and writes it to .build/histories.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

kind=release
if [[ ${1:-} == --debug ]]; then kind=debug && shift; fi
scripts/setup.sh
for product in receiptd Histories; do swift build -c "$kind" "${build_flags[@]}" --product "$product"; done
# The databases are in memory if /dev/shm is writable. Each database lasts as long as a history.
if [[ -z ${TMPDIR:-} && -w /dev/shm ]]; then
    TMPDIR=$(mktemp -d /dev/shm/histories.XXXXXX)
    export TMPDIR
    chmod 755 "$TMPDIR"
    trap 'rm -rf "$TMPDIR"' EXIT
fi
".build/$kind/Histories" --kept Tests/Histories/Kept --keep .build/histories "$@"
