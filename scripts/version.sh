#!/usr/bin/env bash
# Prints the version, which only Sources/receiptd/Version.swift holds.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -nE 's/^ *static let number = "([^"]+)"$/\1/p' Sources/receiptd/Version.swift)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || {
    printf 'version: Sources/receiptd/Version.swift names no version\n' >&2
    exit 1
}
printf '%s\n' "$version"
