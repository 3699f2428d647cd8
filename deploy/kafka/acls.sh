#!/usr/bin/env bash
# Gives each principal the rights on Kafka that it needs and no others. May be repeated: what is there already stays.
#
#   deploy/kafka/acls.sh --bootstrap-server kafka:9092 --command-config admin.properties
#
# Arguments go to kafka-acls.sh. KAFKA_ACLS names that tool where it is called otherwise, or another: KAFKA_ACLS=echo shows what
# would be done. The brokers must refuse whom no ACL allows (allow.everyone.if.no.acl.found=false). Before Kafka 2.8 each that
# writes needs --operation IdempotentWrite --cluster too.
set -euo pipefail

tool=${KAFKA_ACLS:-kafka-acls.sh}
arguments=("$@")

# Whom the brokers know them as: by the log-in's name, or the certificate's.
worker=${WORKER:-User:receiptd-worker}
operator=${OPERATOR:-User:receiptd-operator}
intake=${INTAKE:-User:receiptd-intake}
game_server=${GAME_SERVER:-User:game-server}
inventory=${INVENTORY:-User:inventory}
keda=${KEDA:-User:keda}

# As in receiptd's settings.
group=${KAFKA_GROUP_ID:-receiptd}
submissions=${KAFKA_SUBMISSIONS_TOPIC:-receipt-submissions}
outcomes=${KAFKA_OUTCOMES_TOPIC:-receipt-outcomes}
dead_letters=${KAFKA_DEAD_LETTERS_TOPIC:-receipt-dead-letters}
notifications=${KAFKA_NOTIFICATIONS_TOPIC:-app-store-notifications}
accounts=${KAFKA_ACCOUNTS_TOPIC:-player-accounts}
consumption=${KAFKA_CONSUMPTION_TOPIC:-receipt-consumption}

# Reading and writing let see the topic or group too.
allow() {
    local principal=$1
    shift
    "$tool" "${arguments[@]}" --add --allow-principal "$principal" "$@"
}
topics() {
    local topic
    for topic in "$@"; do printf -- '--topic\n%s\n' "$topic"; done
}
reads() { mapfile -t named < <(topics "${@:2}") && allow "$1" --operation Read "${named[@]}"; }
writes() { mapfile -t named < <(topics "${@:2}") && allow "$1" --operation Write "${named[@]}"; }

# receiptd run. It asks how the topics are set, to warn of what compacts where it must not.
# After PostgreSQL was put back it reads from its own events whose purchases were published.
reads "$worker" "$submissions" "$outcomes" "$notifications" "$accounts" "$consumption"
writes "$worker" "$outcomes" "$dead_letters"
mapfile -t all_topics < <(topics "$submissions" "$outcomes" "$dead_letters" "$notifications" "$accounts" "$consumption")
groups=(--group "$group" --group "$group-notifications" --group "$group-accounts" --group "$group-consumption")
allow "$worker" --operation DescribeConfigs "${all_topics[@]}"
allow "$worker" --operation Read "${groups[@]}"

# Commands: inspect and dead-letters list read; dead-letters redrive writes to where a record came from; rewind sets the
# group's offsets back; submit writes and waits for the outcomes; check tries what a worker does.
reads "$operator" "$submissions" "$outcomes" "$dead_letters" "$notifications" "$accounts" "$consumption"
writes "$operator" "$submissions" "$notifications" "$accounts" "$consumption"
allow "$operator" --operation DescribeConfigs "${all_topics[@]}"
allow "$operator" --operation Read "${groups[@]}"

# receiptd intake.
writes "$intake" "$notifications"

# Game servers: they submit, say whose account tokens are and what was consumed, and read what became of it.
writes "$game_server" "$submissions" "$accounts" "$consumption"
reads "$game_server" "$outcomes"
allow "$game_server" --operation Read --resource-pattern-type prefixed --group game-server

# The inventory service. Nobody but the worker writes outcomes: what is there is believed.
reads "$inventory" "$outcomes"
allow "$inventory" --operation Read --resource-pattern-type prefixed --group inventory

# KEDA reads the lag.
allow "$keda" --operation Describe --topic "$submissions"
allow "$keda" --operation Describe --group "$group"
