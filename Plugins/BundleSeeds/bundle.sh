#!/bin/sh
# Writes the sample cases' files that the demo needs into one Swift file. For each file it writes a line with the path
# and the number of bytes, then the file and a line break.
# usage: bundle.sh FOLDER FILE     FOLDER has the sample cases; FILE is the Swift file
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
