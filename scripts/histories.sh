#!/usr/bin/env bash
# Plays histories that are drawn, and kept ones, on the worker, and judges them by the contract (docs/histories.md).
# usage: scripts/histories.sh [--count N] [--seed N] [--width N] [--kafka HOST:PORT] [--kept FILE] ...
# What fails is shrunk and written to .build/histories.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
swift build --build-tests "${build_flags[@]}"
exec .build/debug/Histories --kept Tests/Histories/Kept --keep .build/histories "$@"
