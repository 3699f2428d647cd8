#!/usr/bin/env bash
# Links the debug build's receiptd again, with Swift's runtime inside, and packs it. Then scripts/check-package.sh
# --installed tries the packages in a Debian without Swift. A release build would take minutes, and differs only in
# speed. The script needs a debug build and Debian's mirror.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
read -ra libraries < <(pkg-config --libs libpq rdkafka zlib)
# The command names the static libraries of Foundation, because the modules were compiled for the shared Foundation. lld
# accepts libraries in any order.
swiftc -use-ld=lld -static-stdlib -emit-executable -module-name receiptd -o "$scratch/receiptd" \
    -Xlinker --defsym -Xlinker main=receiptd_main @.build/debug/receiptd.product/Objects.LinkFileList "${libraries[@]}" -lstdc++ \
    -lFoundation -lFoundationEssentials -lFoundationInternationalization -lCoreFoundation \
    -l_FoundationICU -l_FoundationCShims -l_FoundationCollections -lm
RECEIPTD_BINARY=$scratch/receiptd scripts/package.sh --fast "$scratch/dist" >"$scratch/said" || { cat "$scratch/said" && exit 1; }
scripts/check-package.sh --installed "$scratch/dist"
