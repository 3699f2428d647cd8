#!/usr/bin/env bash
# Measures our HTTP client, JSON reader and base64 against the libraries that they replace
# (docs/decisions/0034-own-parts-behind-fences.md). The script passes its arguments to the benchmark (--help lists
# them).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
swift build --configuration release --package-path Benchmarks/Parts --product PartsBenchmark
exec Benchmarks/Parts/.build/release/PartsBenchmark "$@"
