#!/usr/bin/env bash
# Runs workers while database, broker, network and Apple fail, and judges them from outside (docs/decisions/0018).
# usage: scripts/chaos.sh                    makes faults for CHAOS_SECONDS (120), then checks the replicas' shared rate
#        scripts/chaos.sh --planted [NAME]   plants each fault, or NAME, in the worker: the judge must find each
#        scripts/chaos.sh --outage SECONDS   a release build, SECONDS without Apple: memory, parked rows, recovery
# CHAOS_SEED=n makes the faults of that seed in their order. CHAOS_FAULTS=a,b makes only these (ChaosFault.swift).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

export CHAOS_SECONDS=${CHAOS_SECONDS:-120}
filter='faults|quota'
case ${1:-} in
'') ;;
--planted)
    filter='plantedFaults|soundScenes'
    if [[ -n ${2:-} ]]; then
        export CHAOS_PLANTED=$2
        filter='plantedFaults'
    fi
    ;;
--outage)
    export CHAOS_OUTAGE=${2:?"usage: scripts/chaos.sh --outage SECONDS"}
    filter='outage'
    ;;
*)
    sed -n '3,6s/^# //p' "$0" >&2
    exit 64
    ;;
esac

scripts/setup.sh
if [[ $filter == outage ]]; then
    scripts/release.sh
    export CHAOS_PROGRAM=$PWD/.build/shipped/release/receiptd
fi
swift build --build-tests "${build_flags[@]}"
exec swift test --skip-build --disable-xctest --filter "^EndToEndTests\.Chaos/($filter)\(" "${build_flags[@]}"
