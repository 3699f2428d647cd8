#!/usr/bin/env bash
# Fails where a submission costs the worker more memory than it did: two backlogs of signed receipts are worked off, and the second's
# allocations less the first's are those of the submissions that it has more. So are the bytes that it holds at its peak, when nearly
# all of them are in hand at once: frames of asynchronous functions, and what they hold while they wait. Counts, so that a busy
# machine does not change them much. BatchCostTests counts round trips and rows. Wants a debug build.
# usage: scripts/check-cost.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# For one submission, in a debug build. Where a change is worth more, raise it and say why in the commit.
readonly most_allocations=2300 most_bytes=20000
# As many are in hand at once as MAX_IN_FLIGHT lets in.
readonly fewer=500 more=2500
# At Apple's latency in milliseconds they come in faster than they leave.
readonly latency=400

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -O2 -shared -fPIC -o "$scratch/allocations.so" Benchmarks/AllocationCount/allocations.c

# Allocations and bytes of the worker: what migrates and imports the catalog before it allocates less.
count() {
    rm -f "$scratch"/count.*
    .build/debug/PipelineBenchmark --build .build/debug --latencies "$latency" --seconds 1000 --most "$1" --throughput-only \
        --set "LD_PRELOAD=$scratch/allocations.so" --set "ALLOCATIONS_FILE=$scratch/count" >"$scratch/said" 2>&1 ||
        { cat "$scratch/said" >&2 && return 1; }
    sort -n "$scratch"/count.* | tail -n 1
}
low=$(count "$fewer")
high=$(count "$more")
read -r low_allocations low_bytes <<<"$low"
read -r high_allocations high_bytes <<<"$high"
allocations=$(((high_allocations - low_allocations) / (more - fewer)))
bytes=$(((high_bytes - low_bytes) / (more - fewer)))
printf 'check-cost: %d allocations for each submission, at most %d; %d bytes while it is in hand, at most %d\n' \
    "$allocations" "$most_allocations" "$bytes" "$most_bytes"
[[ $allocations -gt 0 && $allocations -le $most_allocations && $bytes -gt 0 && $bytes -le $most_bytes ]] ||
    { printf 'check-cost: a submission costs more than it did\n' >&2 && exit 1; }
