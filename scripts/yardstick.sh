#!/usr/bin/env bash
# receiptd and a bare batching worker in Go (Benchmarks/Yardstick), in turn, on the same work: same broker, database,
# simulated App Store and submissions. Arguments are handed to the benchmark.
# usage: scripts/yardstick.sh [ROUNDS] [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=3
if [[ ${1-} =~ ^[0-9]+$ ]]; then
    rounds=$1
    shift
fi

# Debian's own Go libraries: nothing is fetched from elsewhere.
readonly sources=/usr/share/gocode
packages=(go=golang-go)
for library in golang-github-confluentinc-confluent-kafka-go-dev golang-github-jackc-pgx-v4-dev; do
    dpkg -s "$library" >/dev/null 2>&1 || packages+=("$library")
done
scripts/setup.sh "${packages[@]}"
readonly yardstick=$PWD/.build/yardstick
mkdir -p "$(dirname "$yardstick")"
(cd Benchmarks/Yardstick && GO111MODULE=off GOPATH=$sources go build -o "$yardstick" .)

# Builds the rest.
scripts/bench.sh --help >/dev/null
measure() { scripts/bench.sh --throughput-only "$@" | grep -E '^(latency|[0-9]+) .*\|'; }
ours() {
    echo "receiptd"
    measure "$@"
}
theirs() {
    echo "yardstick"
    measure "$@" --worker "$yardstick"
}
# Now one first and now the other: machines drift.
for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then theirs "$@" && ours "$@"; else ours "$@" && theirs "$@"; fi
done
