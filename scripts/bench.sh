#!/usr/bin/env bash
# The whole pipeline's speed, processor time and memory. Arguments are handed to the benchmark (--help lists them).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
swift build --configuration release --product receiptd
swift build --configuration release --product AppStoreSimulator
# One folder for both packages: what they share is built once.
swift build --configuration release --package-path Benchmarks --scratch-path .build
exec .build/release/PipelineBenchmark --build .build/release "$@"
