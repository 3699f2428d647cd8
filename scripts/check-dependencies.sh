#!/usr/bin/env bash
# Fails if a target imports a module that docs/architecture.md, "The house", forbids. The compiler checks imports
# against Package.swift. This script checks them against the design, so it also finds an import that Package.swift
# wrongly allows.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the project's modules that a target may import. A folder of Sources without a line here is a fault.
allowed_modules() {
    case $1 in
    CRDKafka | CLibPQ | CZlib | CCommit | CMalloc | CSpawn | CThreadShim | CUnpackingLimit | PlantedFaults) ;;
    # Our own parts, which use no term of the domain (decision 0034).
    Encodings | NamesAndTimes | PooledHTTP) ;;
    Fulfillment) echo Encodings NamesAndTimes ;;
    AppStoreSimulation) echo Encodings NamesAndTimes ;;
    EmbeddedPostgres) echo CSpawn ;;
    Kafka) echo CRDKafka CUnpackingLimit ;;
    Postgres) echo CLibPQ ;;
    AppleProofs) echo Encodings Fulfillment NamesAndTimes ;;
    AppStore) echo AppleProofs Encodings Fulfillment NamesAndTimes PlantedFaults PooledHTTP ;;
    Ledger) echo Encodings Fulfillment NamesAndTimes PlantedFaults Postgres ;;
    BackOffice) echo Encodings Fulfillment Ledger NamesAndTimes Postgres ;;
    Operations) echo Encodings Fulfillment NamesAndTimes ;;
    OperationsHTTP) echo Fulfillment Operations ;;
    Pipeline) echo Encodings Fulfillment Kafka NamesAndTimes Operations PlantedFaults ;;
    AppStoreSimulator) echo AppStoreSimulation ;;
    ReceiptdConfiguration) echo AppleProofs Encodings Fulfillment Kafka NamesAndTimes ;;
    Administration) echo AppleProofs AppStore BackOffice CZlib Encodings Fulfillment Kafka Ledger NamesAndTimes Pipeline Postgres ReceiptdConfiguration ;;
    Monitoring) echo AppStore Fulfillment Ledger NamesAndTimes Operations Postgres ReceiptdConfiguration ;;
    Console) echo Administration BackOffice Encodings Fulfillment Ledger NamesAndTimes Operations OperationsHTTP Postgres ReceiptdConfiguration ;;
    # Only the demo may import AppStoreSimulation and EmbeddedPostgres: the shipped receiptd must contain no part of a
    # test.
    Demo) echo AppStoreSimulation BackOffice EmbeddedPostgres Encodings Fulfillment Kafka Ledger NamesAndTimes Pipeline Postgres ReceiptdConfiguration ;;
    receiptd) echo Administration AppleProofs AppStore BackOffice CCommit CMalloc Console Demo Encodings Fulfillment Kafka Ledger Monitoring NamesAndTimes Operations OperationsHTTP Pipeline Postgres ReceiptdConfiguration ;;
    # Histories use the worker from outside. HistoryModel, which judges them, must know nothing of the worker.
    HistoryModel) echo Encodings ;;
    Histories) echo AppStoreSimulation EmbeddedPostgres Encodings HistoryModel Kafka Postgres ;;
    *) return 1 ;;
    esac
}

# Prints all modules that a target may import, including the modules of other packages and of the system. Prints nothing
# for a target that may import any of the latter. Fulfillment and the targets below it must not import Foundation, so
# the domain has no clock, file or socket.
all_allowed_imports() {
    case $1 in
    Fulfillment) echo Crypto Encodings NamesAndTimes ;;
    Encodings) echo none ;;
    HistoryModel) echo Encodings ;;
    NamesAndTimes) echo Darwin Glibc ;;
    # The pipeline imports Operations, so Operations must have no HTTP.
    Operations) echo Darwin Dispatch Encodings Foundation Fulfillment Glibc Logging NamesAndTimes Synchronization ;;
    PooledHTTP) echo Darwin Glibc NIOCore NIOHTTP1 NIOPosix NIOSSL ;;
    esac
}

modules=" "
for folder in Sources/*/; do modules+="$(basename "$folder") "; done
for folder in Tests/*/; do modules+="$(basename "$folder") "; done

faults=0
fault() {
    printf '%s: %s\n' "$1" "$2" >&2
    faults=$((faults + 1))
}

# Prints FILE:LINE:MODULE for every import under a folder. The import may have attributes or an access level, or be
# `import struct M.S`.
imports() {
    grep -rnE --include='*.swift' \
        '^[[:space:]]*(@[A-Za-z_]+(\([^)]*\))?[[:space:]]+)*((public|package|internal|fileprivate|private)[[:space:]]+)?import[[:space:]]' \
        "$1" |
        sed -E 's/^([^:]+:[0-9]+):.*import[[:space:]]+((struct|class|enum|protocol|typealias|func|var|let)[[:space:]]+)?([A-Za-z_0-9]+).*/\1:\4/' || true
}

for folder in Sources/*/ Tests/HistoryModel/ Tests/Histories/; do
    target=$(basename "$folder")
    if ! allowed=" $(allowed_modules "$target") "; then
        fault "$folder" "no rule for this target: say in scripts/check-dependencies.sh what it may import"
        continue
    fi
    all_allowed=" $(all_allowed_imports "$target") "
    while IFS=: read -r file line module; do
        [[ -n $module ]] || continue
        if [[ $all_allowed != "  " && $all_allowed != *" $module "* ]]; then
            fault "$file:$line" "$target imports $module: of all modules it may import${all_allowed% }"
        elif [[ $modules == *" $module "* && $allowed != *" $module "* ]]; then
            fault "$file:$line" "$target imports $module: it may import${allowed% } of this project"
        fi
    done < <(imports "$folder")
done

# A folder of Ledger or BackOffice must not have the name of another target's folder, so that nobody confuses the two.
for folder in Sources/{Ledger,BackOffice}/*/; do
    room=$(basename "$folder")
    for other in Sources/*/"$room"/; do
        [[ $other == "$folder" ]] || fault "$folder" "shares its name with $other"
    done
done

# Targets that decide must get the time as an argument.
while IFS=: read -r file line _; do
    fault "$file:$line" "names WallClock: here time is an argument"
done < <(grep -rn WallClock Sources/Fulfillment Sources/AppleProofs Sources/ReceiptdConfiguration Sources/AppStoreSimulation || true)

if [[ $faults -gt 0 ]]; then
    printf 'check-dependencies: %d faults\n' "$faults" >&2
    exit 1
fi
