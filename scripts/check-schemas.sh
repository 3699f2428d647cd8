#!/usr/bin/env bash
# Fails where docs/schemas is not what its meta-schemas and AsyncAPI allow, what docs/contract says, or what receiptd takes and writes:
# every sample case, every catalog, the examples of the contract, and every line of the files that are named.
# usage: scripts/check-schemas.sh [--all-kinds] [FILE...]   JSON lines of events, as RECEIPTD_TEST_EVENTS collects them
#                                                           --all-kinds: fails where a kind of event is in none of them
set -euo pipefail

arguments=()
for argument in "$@"; do
    [[ $argument == --* ]] || argument=$(realpath "$argument")
    arguments+=("$argument")
done
cd "$(dirname "$0")/.."

# Debian's own interpreter and packages, whatever else is on the PATH.
readonly python=/usr/bin/python3
if ! "$python" -c 'import jsonschema, yaml' 2>/dev/null; then
    scripts/setup.sh python3-jsonschema python3-yaml
fi
"$python" -B scripts/schemas.py "${arguments[@]}"
scripts/setup.sh python3-venv
scripts/deploy-tools.sh
.build/deploy-tools/bin/python -B scripts/asyncapi.py docs/schemas/asyncapi.yaml
