#!/usr/bin/env bash
# Measures receiptd and a bare batching worker in Go (Benchmarks/Yardstick) in turn, on the same work: same broker,
# database, simulated App Store and submissions. The bare worker runs twice: with an outbox (full), and with its grants
# only (lean). YARDSTICK=full or YARDSTICK=lean runs only that one of the two. The script passes further arguments to
# the benchmark.
# usage: scripts/yardstick.sh [ROUNDS] [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=3
if [[ ${1-} =~ ^[0-9]+$ ]]; then
    rounds=$1
    shift
fi

# The Go libraries come from Debian packages, so the build downloads nothing else.
readonly sources=/usr/share/gocode
packages=(go=golang-go)
for library in golang-github-confluentinc-confluent-kafka-go-dev golang-github-jackc-pgx-v4-dev; do
    dpkg -s "$library" >/dev/null 2>&1 || packages+=("$library")
done
scripts/setup.sh "${packages[@]}"
readonly yardstick=$PWD/.build/yardstick
mkdir -p "$(dirname "$yardstick")"
(cd Benchmarks/Yardstick && GO111MODULE=off GOPATH=$sources go build -o "$yardstick" .)

# Builds receiptd and the benchmark.
scripts/bench.sh --help >/dev/null
measure() { scripts/bench.sh --throughput-only "$@" | grep -E '^(latency|[0-9]+) .*\|'; }
run() {
    local worker=$1
    shift
    if [[ $worker == receiptd ]]; then
        echo receiptd
        measure "$@"
    else
        echo "the $worker yardstick"
        measure "$@" --worker "$yardstick" --set "YARDSTICK=$worker"
    fi
}

workers=(receiptd full lean)
case ${YARDSTICK-} in
    "") ;;
    full | lean) workers=(receiptd "$YARDSTICK") ;;
    *) echo "YARDSTICK is full or lean, not $YARDSTICK" >&2 && exit 64 ;;
esac
# Every second round runs backwards, so that a machine that grows slower favours no worker.
for ((round = 0; round < rounds; round++)); do
    for ((index = 0; index < ${#workers[@]}; index++)); do
        place=$((round % 2 ? ${#workers[@]} - 1 - index : index))
        run "${workers[place]}" "$@"
    done
done
