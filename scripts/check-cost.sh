#!/usr/bin/env bash
# Prints what a submission costs the worker, and fails if a count is above its limit below. A worker decides a small
# backlog of signed receipts, another worker a larger one. The larger backlog's additional counts are the cost of its
# additional submissions.
#
# The held bytes come from the moment at which a worker holds the most bytes. Most submissions are then in hand, with
# the frames of waiting asynchronous functions and their data. The script measures no time. A busy machine can add to the
# counts, because a worker that gets little processor time decides smaller batches. So the script fails only if no
# attempt is within the limits. It needs a debug build. BatchCostTests counts round trips and rows.
# usage: scripts/check-cost.sh [FOLDER OF THE BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
readonly build=${1:-.build/debug}

# The limits for one submission, in a debug build. If a change is worth a higher limit, raise the limit and give the
# reason in the commit. The other counts depend on the machine's speed, so they have no limit.
readonly limits='allocations 2300
held_bytes 20000
tasks 1.5
pool_jobs 8
copied_bytes 500000'
# The number of submissions in each backlog. At most MAX_IN_FLIGHT (2,000) submissions are in hand at once.
readonly fewer=500 more=2500
readonly attempts=3
# Apple's latency in milliseconds. With it, submissions enter the worker faster than they leave.
readonly latency=400

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc -O2 -shared -fPIC -Wl,-z,initfirst -o "$scratch/costs.so" Benchmarks/SubmissionCost/costs.c

# Writes the worker's counts to the second argument. `receiptd migrate` and `receiptd catalog import` write counts too,
# but allocate less, so the counts with the most allocations are the worker's.
count() {
    rm -f "$scratch"/count.*
    "$build/PipelineBenchmark" --build "$build" --latencies "$latency" --seconds 1000 --most "$1" --throughput-only \
        --set "LD_PRELOAD=$scratch/costs.so" --set "COSTS_FILE=$scratch/count" >"$scratch/said" 2>&1 ||
        { cat "$scratch/said" >&2 && return 1; }
    cp "$(awk '$1 == "allocations" { print $2, FILENAME }' "$scratch"/count.* | sort -n | tail -n 1 | cut -d ' ' -f 2)" "$2"
}
echo "$limits" >"$scratch/limits"
# Prints the counts of the two backlogs' difference. Fails if one of them is above its limit.
judge() {
    awk -v more=$((more - fewer)) '
        FILENAME ~ /limits$/ { most[$1] = $2; next }
        FILENAME ~ /low$/ { low[$1] = $2; next }
        {
            each = ($2 - low[$1]) / more
            printf "check-cost: %-16s %9.1f for each submission%s\n", $1, each, ($1 in most ? ", at most " most[$1] : "")
            seen[$1] = 1
            if ($1 in most && !(each > 0 && each <= most[$1])) { print "check-cost: " $1 " is out of its limits"; failed = 1 }
        }
        END {
            if (!seen["allocations"] || !seen["held_bytes"]) { print "check-cost: the worker wrote no counts"; failed = 1 }
            # The library counts calls only on x86-64.
            for (name in most) if (!seen[name]) print "check-cost: " name " was not counted on this processor"
            exit failed
        }' "$scratch/limits" "$scratch/low" "$scratch/high"
}
for ((attempt = 1; attempt <= attempts; attempt++)); do
    count "$fewer" "$scratch/low"
    count "$more" "$scratch/high"
    if judge; then exit 0; fi
    printf 'check-cost: attempt %d of %d is out of its limits\n' "$attempt" "$attempts"
done
exit 1
