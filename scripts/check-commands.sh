#!/usr/bin/env bash
# Runs the commands of README.md and docs/first-hour.md on embedded parts, and compares what they print with what the pages show.
# Takes a minute or two. Wants a debug build.
# usage: scripts/check-commands.sh [FOLDER]     of receiptd and AppStoreSimulator; .build/debug by default
set -euo pipefail

programs=$(realpath "${1:-$(dirname "$0")/../.build/debug}")
cd "$(dirname "$0")/.."

scripts/setup.sh python3-confluent-kafka python3-psycopg2
exec /usr/bin/python3 -B scripts/commands.py "$programs" .build/examples
