#!/usr/bin/env bash
# Runs the clients of examples/ against the demo's parts, kills consumers and worker on the way, and compares the inventories with
# what was bought: each grant once. Takes less than a minute. Wants a debug build.
# usage: scripts/check-examples.sh [FOLDER]     of receiptd and AppStoreSimulator; .build/debug by default
set -euo pipefail

programs=$(realpath "${1:-$(dirname "$0")/../.build/debug}")
cd "$(dirname "$0")/.."

# Debian's own Go libraries: nothing is fetched from elsewhere.
scripts/setup.sh python3-confluent-kafka python3-psycopg2 python3-jsonschema python3-yaml \
    go=golang-go golang-github-confluentinc-confluent-kafka-go-dev golang-github-jackc-pgx-v4-dev
readonly clients=$PWD/.build/examples
mkdir -p "$clients"
for client in producer consumer; do
    (cd "examples/go/$client" && GO111MODULE=off GOPATH=/usr/share/gocode go build -o "$clients/$client" .)
done
exec /usr/bin/python3 -B scripts/examples.py "$programs" "$clients"
