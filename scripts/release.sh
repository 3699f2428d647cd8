#!/usr/bin/env bash
# Builds the shipped programs, receiptd and AppStoreSimulator, into .build/shipped/release. deploy/Dockerfile uses this
# script too.
#
# Both programs contain Swift's runtime. receiptd lacks the demo, because a simulated App Store and an embedded
# PostgreSQL have no place in production. The programs do not check exclusive access to variables, which would cost a
# few per cent. Debug builds, and so all tests, do. `receiptd --version` names the commit: RECEIPTD_COMMIT if it is set,
# else git's, else none.
# usage: scripts/release.sh [SWIFT BUILD ARGUMENT...]    such as --show-bin-path
set -euo pipefail
cd "$(dirname "$0")/.."

commit=${RECEIPTD_COMMIT:-$(git describe --always --dirty --abbrev=7 --exclude '*' 2>/dev/null || true)}
unset RECEIPTD_COMMIT
[[ -z $commit ]] || export RECEIPTD_COMMIT=$commit

shipped=(--configuration release --static-swift-stdlib --disable-default-traits --scratch-path .build/shipped
    -Xswiftc -enforce-exclusivity=unchecked)
for product in receiptd AppStoreSimulator; do
    swift build "${shipped[@]}" --product "$product" "$@"
done
