#!/usr/bin/env bash
# The whole pipeline's speed, processor time and memory. Arguments are handed to the benchmark (--help lists them).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
scripts/release.sh
swift build --configuration release --product PipelineBenchmark
exec .build/release/PipelineBenchmark --build .build/shipped/release "$@"
