#!/bin/sh
# Writes what the demo needs of the sample cases into one Swift file: for each file a line with its path and its bytes,
# then the file and a line break.
# usage: bundle.sh FOLDER FILE
set -eu
export LC_ALL=C
cd "$1"
{
    printf 'enum SeedArchive {\n    static let text = ####"""\n'
    for file in catalog.yaml signing/*.pem cases/*/*.json cases/*/*.jsonl; do
        printf '%s %s\n' "$file" "$(wc -c <"$file" | tr -d ' ')"
        cat "$file"
        echo
    done
    printf '"""####\n}\n'
} >"$2"
