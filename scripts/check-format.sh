#!/usr/bin/env bash
# Fails if `make format` would change a Swift file.
set -euo pipefail
cd "$(dirname "$0")/.."

folders=()
for folder in Sources Tests Plugins Benchmarks Fuzzing; do
    [[ ! -d $folder ]] || folders+=("$folder")
done
exec swift format lint --strict --parallel --recursive "${folders[@]}"
