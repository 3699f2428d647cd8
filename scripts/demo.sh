#!/usr/bin/env bash
# Builds receiptd and runs its demo: the main job on embedded parts. Arguments are handed to `receiptd demo`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
swift build --product receiptd "${build_flags[@]}"
exec .build/debug/receiptd demo "$@"
