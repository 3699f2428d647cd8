#!/usr/bin/env bash
# Builds what is shipped, the worker and the simulated App Store, into .build/shipped/release. The image is built by it, too.
# With Swift's runtime linked in, and without the demo: neither a simulation nor a PostgreSQL has a place in production.
# Debug builds, and so all tests, check exclusive access; the check costs a release build a few per cent.
# receiptd --version names the commit: RECEIPTD_COMMIT where it is set, else git's, else none.
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
