#!/usr/bin/env bash
# The parts of our own beside the libraries they take the place of (docs/decisions/0034-own-parts-behind-fences.md).
# Arguments are handed to the benchmark (--help lists them).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
swift build --configuration release --package-path Benchmarks/Parts --product PartsBenchmark
exec Benchmarks/Parts/.build/release/PartsBenchmark "$@"
