#!/usr/bin/env bash
# Fails where a Swift file is not as `make format` would leave it.
set -euo pipefail
cd "$(dirname "$0")/.."

folders=()
for folder in Sources Tests Plugins Benchmarks Fuzzing; do
    [[ ! -d $folder ]] || folders+=("$folder")
done
exec swift format lint --strict --parallel --recursive "${folders[@]}"
