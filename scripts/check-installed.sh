#!/usr/bin/env bash
# Links the debug build's receiptd with Swift's runtime in it, packs it, and tries the packages in a Debian without Swift, as
# scripts/check-package.sh --installed does. A release build takes minutes, and what it links is the same but for its speed.
# Wants a debug build, and Debian's mirror.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
read -ra libraries < <(pkg-config --libs libpq rdkafka zlib)
# What Foundation is made of has to be named: the modules were compiled for the shared one. lld does not mind the order.
swiftc -use-ld=lld -static-stdlib -emit-executable -module-name receiptd -o "$scratch/receiptd" \
    -Xlinker --defsym -Xlinker main=receiptd_main @.build/debug/receiptd.product/Objects.LinkFileList "${libraries[@]}" -lstdc++ \
    -lFoundation -lFoundationEssentials -lFoundationInternationalization -lCoreFoundation \
    -l_FoundationICU -l_FoundationCShims -l_FoundationCollections -lm
RECEIPTD_BINARY=$scratch/receiptd scripts/package.sh --fast "$scratch/dist" >"$scratch/said" || { cat "$scratch/said" && exit 1; }
scripts/check-package.sh --installed "$scratch/dist"
