#!/usr/bin/env bash
# Checks the files for operators: alert rules, dashboards, Prometheus's configuration, the compose file, the
# kustomization, the rights in PostgreSQL and Kafka, and the systemd units.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs a command, and prints the command's output only if the command fails.
quietly() {
    if ! "$@" >"$scratch/said" 2>&1; then
        cat "$scratch/said" >&2
        printf 'check-deploy: %s\n' "$*" >&2
        exit 1
    fi
}

scripts/deploy-tools.sh
python=.build/deploy-tools/bin/python

quietly promtool check rules deploy/alerts.yaml
quietly promtool test rules deploy/alerts.test.yaml
"$python" scripts/check-promql.py "$scratch/dashboards.yaml"
quietly promtool check rules "$scratch/dashboards.yaml"
quietly promtool check config deploy/prometheus.yaml
"$python" scripts/check-compose.py
"$python" scripts/check-kubernetes.py "$scratch/scaling.yaml"
quietly promtool test rules "$scratch/scaling.yaml"
scripts/check-roles.sh

# The ACLs must allow somebody to use each topic and consumer group of the settings, by its default name.
KAFKA_ACLS="echo" deploy/kafka/acls.sh --bootstrap-server broker:9092 >"$scratch/acls"
settings=Sources/ReceiptdConfiguration/Settings/KafkaSettings.swift
while read -r name; do
    grep -q -- "--topic $name\b" "$scratch/acls" || { printf 'deploy/kafka/acls.sh: nothing for the topic %s\n' "$name" >&2 && exit 1; }
    # `receiptd check` reads each topic's cleanup policy, with a worker's rights or an operator's.
    for principal in worker operator; do
        grep -qE -- "--allow-principal User:receiptd-$principal --operation DescribeConfigs( .*)? --topic $name( |$)" "$scratch/acls" ||
            { printf 'deploy/kafka/acls.sh: the %s may not read the settings of the topic %s\n' "$principal" "$name" >&2 && exit 1; }
    done
done < <(sed -nE 's/.*Topic = "([a-z-]+)".*/\1/p' "$settings")
while read -r name; do
    grep -q -- "--group receiptd$name\b" "$scratch/acls" || { printf 'deploy/kafka/acls.sh: nothing for the group %s\n' "$name" >&2 && exit 1; }
done < <(sed -nE 's/.*GroupID: String \{ groupID \+ "([a-z-]+)".*/\1/p' "$settings")

scripts/check-unit.sh
