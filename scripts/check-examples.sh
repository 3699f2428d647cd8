#!/usr/bin/env bash
# Runs the clients of examples/ against the demo's parts, and kills consumers and the worker meanwhile. Then the script
# compares the inventories with the purchases: each grant must be there once. The script takes less than a minute, and
# needs a debug build.
# usage: scripts/check-examples.sh [FOLDER]     FOLDER has receiptd and AppStoreSimulator; .build/debug by default
set -euo pipefail

programs=$(realpath "${1:-$(dirname "$0")/../.build/debug}")
cd "$(dirname "$0")/.."

# The Go libraries come from Debian packages, so the build downloads nothing else.
scripts/setup.sh python3-confluent-kafka python3-psycopg2 python3-jsonschema python3-yaml \
    go=golang-go golang-github-confluentinc-confluent-kafka-go-dev golang-github-jackc-pgx-v4-dev
readonly clients=$PWD/.build/examples
mkdir -p "$clients"
for client in producer consumer; do
    (cd "examples/go/$client" && GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$clients/$client" .)
done
exec /usr/bin/python3 -B scripts/examples.py "$programs" "$clients"
