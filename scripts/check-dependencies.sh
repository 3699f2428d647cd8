#!/usr/bin/env bash
# Fails where a target imports what its place in the house forbids (docs/architecture.md, "The house").
# The compiler holds imports against Package.swift; this holds them against the design, Package.swift included.
set -euo pipefail
cd "$(dirname "$0")/.."

# Which of the project's modules a target may import. A folder of Sources that is not here is a fault.
allowed_modules() {
    case $1 in
    CRDKafka | CLibPQ | CMalloc | CSpawn | CThreadShim | CUnpackingLimit | Fulfillment | AppStoreSimulation | PlantedFaults) ;;
    EmbeddedPostgres) echo CSpawn ;;
    Kafka) echo CRDKafka CUnpackingLimit ;;
    Postgres) echo CLibPQ ;;
    AppleProofs) echo Fulfillment ;;
    AppStore) echo AppleProofs Fulfillment PlantedFaults ;;
    Ledger) echo Fulfillment PlantedFaults Postgres ;;
    Operations) echo Fulfillment ;;
    Pipeline) echo Fulfillment Kafka Operations PlantedFaults ;;
    AppStoreSimulator) echo AppStoreSimulation ;;
    ReceiptdConfiguration) echo AppleProofs Fulfillment Kafka ;;
    Administration) echo AppleProofs AppStore Fulfillment Kafka Ledger Pipeline Postgres ReceiptdConfiguration ;;
    # What is shipped has nothing of a test in it: these two are the demo's alone.
    Demo) echo AppStoreSimulation EmbeddedPostgres Fulfillment Kafka Ledger Pipeline Postgres ReceiptdConfiguration ;;
    receiptd) echo Administration AppleProofs AppStore CMalloc Demo Fulfillment Kafka Ledger Operations Pipeline Postgres ReceiptdConfiguration ;;
    *) return 1 ;;
    esac
}

# What the domain may import at all: no Foundation, so no clock, no file and no socket.
readonly allowed_in_fulfillment=" Crypto "

modules=" "
for folder in Sources/*/; do modules+="$(basename "$folder") "; done
for folder in Tests/*/; do modules+="$(basename "$folder") "; done

faults=0
fault() {
    printf '%s: %s\n' "$1" "$2" >&2
    faults=$((faults + 1))
}

# FILE:LINE:MODULE of every import under a folder. Attributes, access levels and `import struct M.S` are seen through.
imports() {
    grep -rnE --include='*.swift' \
        '^[[:space:]]*(@[A-Za-z_]+(\([^)]*\))?[[:space:]]+)*((public|package|internal|fileprivate|private)[[:space:]]+)?import[[:space:]]' \
        "$1" |
        sed -E 's/^([^:]+:[0-9]+):.*import[[:space:]]+((struct|class|enum|protocol|typealias|func|var|let)[[:space:]]+)?([A-Za-z_0-9]+).*/\1:\4/' || true
}

for folder in Sources/*/; do
    target=$(basename "$folder")
    if ! allowed=" $(allowed_modules "$target") "; then
        fault "$folder" "no rule for this target: say in scripts/check-dependencies.sh what it may import"
        continue
    fi
    while IFS=: read -r file line module; do
        [[ -n $module ]] || continue
        if [[ $target == Fulfillment && $allowed_in_fulfillment != *" $module "* ]]; then
            fault "$file:$line" "Fulfillment imports $module: it may import nothing but${allowed_in_fulfillment% }"
        elif [[ $modules == *" $module "* && $allowed != *" $module "* ]]; then
            fault "$file:$line" "$target imports $module: it may import${allowed% } of this project"
        fi
    done < <(imports "$folder")
done

if [[ $faults -gt 0 ]]; then
    printf 'check-dependencies: %d forbidden imports\n' "$faults" >&2
    exit 1
fi
