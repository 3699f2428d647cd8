#!/usr/bin/env bash
# Whole workers under load while their database, broker, network and Apple fail, judged from outside (docs/decisions/0018).
# usage: scripts/chaos.sh                    faults for CHAOS_SECONDS (120), then the rate that replicas share
#        scripts/chaos.sh --planted [NAME]   plants each fault, or this one, in the worker: the judge must find it
#        scripts/chaos.sh --outage SECONDS   a release build, Apple away for so long: memory, parked rows, recovery
# CHAOS_SEED=n repeats the faults of a run in their order. CHAOS_FAULTS=a,b draws from these only (ChaosFault.swift).
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
