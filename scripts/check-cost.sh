#!/usr/bin/env bash
# Fails where a submission costs the worker more memory allocations than it did: two backlogs of signed receipts are worked off, and
# the second's allocations less the first's are those of the submissions that it has more. A count, so that a busy machine does
# not change it. BatchCostTests counts round trips and rows. Wants a debug build.
# usage: scripts/check-cost.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# For one submission, in a debug build. Where a change is worth more, raise it and say why in the commit.
readonly most=2300
readonly fewer=500 more=2500

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -O2 -shared -fPIC -o "$scratch/allocations.so" Benchmarks/AllocationCount/allocations.c

# The worker's: what migrates and imports the catalog before it allocates less.
allocations() {
    rm -f "$scratch"/count.*
    .build/debug/PipelineBenchmark --build .build/debug --latencies 5 --seconds 1000 --most "$1" --throughput-only \
        --set "LD_PRELOAD=$scratch/allocations.so" --set "ALLOCATIONS_FILE=$scratch/count" >"$scratch/said" 2>&1 ||
        { cat "$scratch/said" >&2 && return 1; }
    sort -n "$scratch"/count.* | tail -n 1
}
low=$(allocations "$fewer")
high=$(allocations "$more")
each=$(((high - low) / (more - fewer)))
printf 'check-cost: %d allocations for each submission, at most %d\n' "$each" "$most"
[[ $each -gt 0 && $each -le $most ]] || { printf 'check-cost: a submission costs more than it did\n' >&2 && exit 1; }
