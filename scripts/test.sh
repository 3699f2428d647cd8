#!/usr/bin/env bash
# Everything that must hold: formatting, imports, documents, deploy files, and all tests. What CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

step "setup"
scripts/setup.sh promtool=prometheus
step "format"
scripts/check-format.sh
step "dependencies"
scripts/check-dependencies.sh
step "documents"
scripts/check-docs.sh
step "alert rules"
promtool check rules deploy/alerts.yaml >/dev/null
promtool test rules deploy/alerts.test.yaml >/dev/null
step "build"
swift build --build-tests "${build_flags[@]}"
# In turns: what only computes would starve those who wait for other processes, and the latter each other.
pure='^(FulfillmentTests|AppleProofsTests)\.'
whole='^EndToEndTests\.'
step "tests of what only computes"
swift test --skip-build --disable-xctest --filter "$pure" "${build_flags[@]}"
step "tests of the parts"
swift test --skip-build --disable-xctest --skip "$pure" --skip "$whole" "${build_flags[@]}"
step "tests of the whole"
swift test --skip-build --disable-xctest --filter "$whole" "${build_flags[@]}"
step "done"
