#!/usr/bin/env bash
# Runs the commands of README.md and docs/first-hour.md on embedded parts, and compares their output with the output
# that the pages show. The script takes a minute or two, and needs a debug build.
# usage: scripts/check-commands.sh [FOLDER]     FOLDER has receiptd and AppStoreSimulator; .build/debug by default
set -euo pipefail

programs=$(realpath "${1:-$(dirname "$0")/../.build/debug}")
cd "$(dirname "$0")/.."

scripts/setup.sh python3-confluent-kafka python3-psycopg2
exec /usr/bin/python3 -B scripts/commands.py "$programs" .build/examples
