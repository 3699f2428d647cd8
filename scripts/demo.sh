#!/usr/bin/env bash
# Builds receiptd and runs its demo on embedded parts. The script passes its arguments to `receiptd demo`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
swift build --product receiptd "${build_flags[@]}"
exec .build/debug/receiptd demo "$@"
