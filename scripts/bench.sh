#!/usr/bin/env bash
# Measures the speed, processor time and memory of the whole pipeline. The script passes its arguments to the benchmark
# (--help lists them).
#   bench.sh compare COMMIT [ARGUMENTS]   runs this checkout and COMMIT in turn, and prints the ratios of their figures
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
scripts/release.sh
swift build --configuration release --product PipelineBenchmark
if [[ ${1-} == compare ]]; then
    commit=$(git rev-parse --verify "${2:?which commit}^{commit}")
    shift 2
    other=$PWD/.build/bench-$commit
    if [[ ! -x $other/.build/shipped/release/receiptd ]]; then
        rm -rf "$other"
        git clone --quiet . "$other"
        git -C "$other" checkout --quiet "$commit"
        "$other/scripts/release.sh"
    fi
    set -- --against "$other/.build/shipped/release" "$@"
fi
exec .build/release/PipelineBenchmark --build .build/shipped/release "$@"
