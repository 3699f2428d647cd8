#!/usr/bin/env bash
# Fails if the documents and the code disagree about the version, settings, metrics, links, files or tests, or if
# README.md is too long.
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

# A setting's name is in capitals. The settings' sources have the name as a string literal, and docs/settings.md has it
# in the first column of a table.
# shellcheck disable=SC2016  # the backquotes are Markdown's
check_settings() {
    local sources=Sources/ReceiptdConfiguration/Settings name
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

# Prints the anchors of a document's headings, as GitHub makes them.
anchors() {
    awk '/^ *```/ { fenced = !fenced; next } !fenced && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
        sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Checks one link of a document: the file must exist, and if it is Markdown, the heading too.
check_link() {
    local document=$1 target=$2
    local path=${target%%#*} anchor=
    [[ $target != *'#'* ]] || anchor=${target#*#}
    local file=$document
    [[ -z $path ]] || file=$(dirname "$document")/$path
    if [[ ! -e $file ]]; then
        fault "$document: the link to $target leads nowhere"
    elif [[ -n $anchor && $file == *.md ]] && ! anchors "$file" | grep -qxF "$anchor"; then
        fault "$document: $file has no heading for $target"
    fi
}

# Checks the relative links outside of fenced code.
check_links() {
    local document target
    while read -r document; do
        while read -r target; do
            case $target in http://* | https://* | mailto:*) ;; *) check_link "$document" "$target" ;; esac
        done < <(awk '/^ *```/ { fenced = !fenced; next } !fenced' "$document" |
            { grep -oE '\]\([^)[:space:]]+\)' || true; } | sed -E 's/^\]\((.*)\)$/\1/')
    done < <(documents)
}

# docs/architecture.md and CONTRIBUTING.md must name only files that exist. The reading path must name one to four files
# for each question. "The house" must name every folder of Sources.
# shellcheck disable=SC2016  # the backquotes are Markdown's
check_paths() {
    local document path question count folder house
    for document in docs/architecture.md CONTRIBUTING.md; do
        while read -r path; do
            [[ -e $path ]] || fault "$document: there is no $path"
        done < <(grep -oE '`(Sources|Tests|seeds|scripts|docs|deploy)/[^` ]+`' "$document" | tr -d '`' | sort -u)
    done
    while IFS=$'\t' read -r question count; do
        [[ $count -ge 1 && $count -le 4 ]] || fault "docs/architecture.md: \"$question\" is answered by $count files, not 1 to 4"
    done < <(awk -F ' *[|] *' '/^\| question/ { inside = 1; next } inside && !/^\|/ { inside = 0 } inside && $2 !~ /^-/ {
        print $2 "\t" gsub(/`[A-Za-z]+(\/[^`]+|\.sql)`/, "", $3) }' docs/architecture.md)
    house=$(awk '/^## /{ inside = ($0 == "## The house") } inside' docs/architecture.md)
    for folder in Sources/*/; do
        grep -qwF "$(basename "$folder")" <<<"$house" || fault "docs/architecture.md: \"The house\" lacks $folder"
    done
}

# The runbook section that an alert names must exist. An alert gives the path from the repository's root.
check_runbooks() {
    local target
    while read -r target; do
        check_link alerts.yaml "$target"
    done < <(sed -nE 's/^ *runbook_url: *//p' deploy/alerts.yaml)
}

# The sample cases and the test that docs/threat-model.md names for an attack must exist. The second column has the
# cases. The last column has the test as `FILE`: NAME.
# shellcheck disable=SC2016  # the backquotes are Markdown's
check_threats() {
    local model=docs/threat-model.md name file sentence
    while read -r name; do
        [[ -d seeds/cases/$name ]] || fault "$model: there is no seeds/cases/$name"
    done < <(awk -F '|' 'NF == 6 { print $3 }' "$model" | { grep -oE '`[^`]+`' || true; } | tr -d '`' | sort -u)
    while IFS=$'\t' read -r file sentence; do
        if [[ -z $sentence ]]; then
            fault "$model: the row of ${file:-an attack} names no test"
        elif ! grep -qF "\"$sentence\"" "Tests/$file" 2>/dev/null; then
            fault "$model: Tests/$file has no test \"$sentence\""
        fi
    done < <(awk -F ' *[|] *' 'NF == 6 && $2 !~ /^(attack|-)/ { print $5 }' "$model" | sed -E 's/^`([^`]+)`: */\1\t/')
}

# docs/contract/reasons.md must list each detail_code of events, and docs/answers.md must list each reason.
check_causes() {
    local code
    while read -r code; do
        grep -qF "\`$code\`" docs/contract/reasons.md || fault "docs/contract/reasons.md: the cause $code is not listed"
    done < <(grep -rhoE 'code: "[a-z0-9_]+"' Sources/Fulfillment | cut -d'"' -f2 | sort -u)
    # shellcheck disable=SC2016  # the backquotes are Markdown's
    while read -r code; do
        grep -qF "\`$code\`" docs/answers.md || fault "docs/answers.md: the reason $code is not listed"
    done < <(awk '/^## /{ inside = ($0 == "## Every reason, in order") } inside && /^\| `/' docs/contract/reasons.md | cut -d'|' -f2 |
        grep -oE '[a-z_]+' | sort -u)
}

# The sources must register each metric that docs/contract/commands.md promises.
check_metrics() {
    local name
    # shellcheck disable=SC2016  # the backquotes are Markdown's
    while read -r name; do
        grep -rqF "\"$name\"" Sources || fault "docs/contract/commands.md: Sources has no metric $name"
    done < <(grep -oE '^\| `receiptd_[a-z_]+' docs/contract/commands.md | tr -d '|` ')
}

# Sources/receiptd/Version.swift holds the version. The newest version in CHANGELOG.md and the version of docs/schemas
# must be the same.
check_version() {
    local version changelog schemas
    version=$(scripts/version.sh)
    changelog=$(sed -nE 's/^## \[([0-9][^]]*)\].*/\1/p' CHANGELOG.md | head -n 1)
    schemas=$(sed -nE 's/^  version: *//p' docs/schemas/asyncapi.yaml)
    [[ $changelog == "$version" ]] ||
        fault "CHANGELOG.md: the newest version is ${changelog:-none}, that of Sources/receiptd/Version.swift is $version"
    [[ $schemas == "$version" ]] ||
        fault "docs/schemas/asyncapi.yaml: the version is ${schemas:-none}, that of Sources/receiptd/Version.swift is $version"
}

check_readme
check_version
check_settings
check_causes
check_metrics
check_threats
check_links
check_paths
check_runbooks
if [[ $faults -gt 0 ]]; then
    printf 'check-docs: %d faults\n' "$faults" >&2
    exit 1
fi
