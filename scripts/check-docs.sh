#!/usr/bin/env bash
# Fails where the documents and the code have parted: settings, links, and the length of README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly longest_readme=150
faults=0
fault() {
    printf '%s\n' "$1" >&2
    faults=$((faults + 1))
}

documents() { find . -name '*.md' -not -path './.*' -not -path '*/.build*/*' | sort; }

check_readme() {
    local lines
    lines=$(wc -l <README.md)
    [[ $lines -le $longest_readme ]] || fault "README.md: $lines lines, at most $longest_readme"
}

# Settings are the names in capitals that stand as string literals in the settings' sources, and in the first column of
# a table in docs/settings.md.
# shellcheck disable=SC2016  # the backquotes are Markdown's
check_settings() {
    local sources=Sources/receiptd/Settings name
    if [[ ! -d $sources ]]; then
        fault "$sources: missing, nothing to hold docs/settings.md against"
        return
    fi
    local read documented
    read=$(grep -rhoE '"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+"' "$sources" | tr -d '"' | sort -u)
    documented=$(sed -nE 's/^\|([^|]*)\|.*/\1/p' docs/settings.md |
        { grep -oE '`[A-Z][A-Z0-9]*(_[A-Z0-9]+)+`' || true; } | tr -d '`' | sort -u)
    while read -r name; do
        [[ -z $name ]] || fault "docs/settings.md: $name is read by $sources and not described"
    done < <(comm -23 <(echo "$read") <(echo "$documented"))
    while read -r name; do
        [[ -z $name ]] || fault "docs/settings.md: $name is described and not read by $sources"
    done < <(comm -13 <(echo "$read") <(echo "$documented"))
}

# Relative links, outside of fenced code.
check_links() {
    local document target path
    while read -r document; do
        while read -r target; do
            path=${target%%#*}
            case $target in http://* | https://* | mailto:* | '#'*) continue ;; esac
            [[ -e $(dirname "$document")/$path ]] || fault "$document: the link to $target leads nowhere"
        done < <(awk '/^ *```/ { fenced = !fenced; next } !fenced' "$document" |
            { grep -oE '\]\([^)[:space:]]+\)' || true; } | sed -E 's/^\]\((.*)\)$/\1/')
    done < <(documents)
}

check_readme
check_settings
check_links
if [[ $faults -gt 0 ]]; then
    printf 'check-docs: %d faults\n' "$faults" >&2
    exit 1
fi
