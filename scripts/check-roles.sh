#!/usr/bin/env bash
# Runs scripts/check-roles.py on a temporary PostgreSQL server, which listens only on a Unix socket of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/deploy-tools.sh

bin=$(command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)
bin=$(dirname "$(readlink -f "$bin")")
# PostgreSQL refuses to run as root.
as=()
[[ $(id -u) -ne 0 ]] || as=(setpriv --reuid postgres --regid postgres --init-groups)

scratch=$(mktemp -d)
stop() {
    (cd / && "${as[@]}" "$bin/pg_ctl" stop --silent --mode immediate --pgdata "$scratch/data") >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap stop EXIT
[[ ${#as[@]} -eq 0 ]] || chown postgres:postgres "$scratch"
chmod 755 "$scratch"

start() {
    cd /
    "${as[@]}" "$bin/initdb" --no-sync --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 \
        --pgdata "$scratch/data"
    "${as[@]}" "$bin/pg_ctl" start --silent --wait --pgdata "$scratch/data" --log "$scratch/log" \
        --options "-c listen_addresses= -c unix_socket_directories=$scratch -c fsync=off -c shared_buffers=16MB"
}
if ! (start) >"$scratch.said" 2>&1; then
    cat "$scratch.said" >&2
    rm -f "$scratch.said"
    exit 1
fi
rm -f "$scratch.said"

.build/deploy-tools/bin/python scripts/check-roles.py "$scratch"
