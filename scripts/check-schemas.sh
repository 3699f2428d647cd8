#!/usr/bin/env bash
# Fails if docs/schemas breaks its meta-schemas or AsyncAPI, or differs from docs/contract. Fails too if docs/schemas
# does not fit the data that receiptd reads and writes: every sample case, every catalog, the contract's examples, and
# every line of each FILE.
# usage: scripts/check-schemas.sh [--all-kinds] [FILE...]   FILE: JSON lines of events, as RECEIPTD_TEST_EVENTS collects
#                                                           them; --all-kinds: fails if a kind of event is in no FILE
set -euo pipefail

arguments=()
for argument in "$@"; do
    [[ $argument == --* ]] || argument=$(realpath "$argument")
    arguments+=("$argument")
done
cd "$(dirname "$0")/.."

# Debian's Python with Debian's packages, even if PATH has another Python first.
readonly python=/usr/bin/python3
if ! "$python" -c 'import jsonschema, yaml' 2>/dev/null; then
    scripts/setup.sh python3-jsonschema python3-yaml
fi
"$python" -B scripts/schemas.py "${arguments[@]}"
scripts/setup.sh python3-venv
scripts/deploy-tools.sh
.build/deploy-tools/bin/python -B scripts/asyncapi.py docs/schemas/asyncapi.yaml
