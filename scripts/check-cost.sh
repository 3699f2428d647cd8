#!/usr/bin/env bash
# Fails if a submission costs the worker more allocations or bytes than the limits below. A worker decides a small
# backlog of signed receipts, another worker a larger one. The larger backlog's additional allocations are the cost of
# its additional submissions.
#
# The script computes bytes in the same way, from the most bytes that a worker holds at once. At that moment most
# submissions are in hand, with the frames of waiting asynchronous functions and their data. The script measures no
# time, so a busy machine hardly changes the result. It needs a debug build. BatchCostTests counts round trips and rows.
# usage: scripts/check-cost.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# The limits for one submission, in a debug build. If a change is worth a higher limit, raise the limit and give the
# reason in the commit.
readonly most_allocations=2300 most_bytes=20000
# The number of submissions in each backlog. At most MAX_IN_FLIGHT (2,000) submissions are in hand at once.
readonly fewer=500 more=2500
# Apple's latency in milliseconds. With it, submissions enter the worker faster than they leave.
readonly latency=400

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -O2 -shared -fPIC -o "$scratch/allocations.so" Benchmarks/AllocationCount/allocations.c

# Prints the worker's allocations and bytes. `receiptd migrate` and `receiptd catalog import` write counts too, but
# allocate less, so the largest count is the worker's.
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
