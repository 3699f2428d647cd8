#!/usr/bin/env bash
# Exits 0 when GET PATH on this container's PORT answers 200. The image has no curl, and needs none for this.
# usage: probe [PORT [PATH]]     by default HTTP_PORT and /livez
set -euo pipefail

port=${1:-${HTTP_PORT:-8080}}
path=${2:-/livez}

exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' "$path" >&3
IFS= read -r -t 2 status <&3
[[ $status == HTTP/1.?\ 200* ]] || { printf '%s\n' "$status" && exit 1; }
