#!/usr/bin/env bash
# The whole pipeline's speed, processor time and memory. Arguments are handed to the benchmark (--help lists them).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
# As the image is built: with Swift's runtime linked in.
shipped=(--configuration release --static-swift-stdlib --scratch-path .build/shipped)
swift build "${shipped[@]}" --product receiptd
swift build "${shipped[@]}" --product AppStoreSimulator
# In a folder of its own: two packages in one would take each other's build plan for theirs.
swift build --configuration release --package-path Benchmarks --product PipelineBenchmark
exec Benchmarks/.build/release/PipelineBenchmark --build "$(swift build "${shipped[@]}" --show-bin-path)" "$@"
