#!/usr/bin/env bash
# Gives each principal exactly the rights in Kafka that it needs. You may run the script again: existing ACLs stay.
#
#   deploy/kafka/acls.sh --bootstrap-server kafka:9092 --command-config admin.properties
#
# The script passes its arguments to kafka-acls.sh. KAFKA_ACLS names another program: KAFKA_ACLS=echo prints the
# commands. The brokers must refuse principals without an ACL (allow.everyone.if.no.acl.found=false). Before Kafka 2.8
# each principal that writes also needs --operation IdempotentWrite --cluster.
set -euo pipefail

tool=${KAFKA_ACLS:-kafka-acls.sh}
arguments=("$@")

# The principals' names in Kafka: the name of the log-in, or of the certificate.
worker=${WORKER:-User:receiptd-worker}
operator=${OPERATOR:-User:receiptd-operator}
intake=${INTAKE:-User:receiptd-intake}
game_server=${GAME_SERVER:-User:game-server}
inventory=${INVENTORY:-User:inventory}
keda=${KEDA:-User:keda}

# The same names as in receiptd's settings.
group=${KAFKA_GROUP_ID:-receiptd}
submissions=${KAFKA_SUBMISSIONS_TOPIC:-receipt-submissions}
outcomes=${KAFKA_OUTCOMES_TOPIC:-receipt-outcomes}
dead_letters=${KAFKA_DEAD_LETTERS_TOPIC:-receipt-dead-letters}
notifications=${KAFKA_NOTIFICATIONS_TOPIC:-app-store-notifications}
accounts=${KAFKA_ACCOUNTS_TOPIC:-player-accounts}
consumption=${KAFKA_CONSUMPTION_TOPIC:-receipt-consumption}

# The rights to read and to write include the right to describe the topic or group.
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

# The worker, `receiptd run`. It reads the topics' settings, to warn of a topic that must not be compacted. After a
# restore of PostgreSQL it reads the owners of published purchases from the outcomes topic.
reads "$worker" "$submissions" "$outcomes" "$notifications" "$accounts" "$consumption"
writes "$worker" "$outcomes" "$dead_letters"
mapfile -t all_topics < <(topics "$submissions" "$outcomes" "$dead_letters" "$notifications" "$accounts" "$consumption")
groups=(--group "$group" --group "$group-notifications" --group "$group-accounts" --group "$group-consumption")
allow "$worker" --operation DescribeConfigs "${all_topics[@]}"
allow "$worker" --operation Read "${groups[@]}"

# Operators' commands. inspect and dead-letters list read topics. dead-letters redrive writes to the topic that a record
# came from. rewind moves the group's offsets back. submit writes, and waits for the outcomes. check tries a worker's
# requests.
reads "$operator" "$submissions" "$outcomes" "$dead_letters" "$notifications" "$accounts" "$consumption"
writes "$operator" "$submissions" "$notifications" "$accounts" "$consumption"
allow "$operator" --operation DescribeConfigs "${all_topics[@]}"
allow "$operator" --operation Read "${groups[@]}"

# `receiptd intake` writes Apple's notifications.
writes "$intake" "$notifications"

# Game servers: they write submissions, the players of account tokens and reports of consumption, and read the outcomes.
writes "$game_server" "$submissions" "$accounts" "$consumption"
reads "$game_server" "$outcomes"
allow "$game_server" --operation Read --resource-pattern-type prefixed --group game-server

# The inventory service. Only the worker may write outcomes, because the inventory believes them.
reads "$inventory" "$outcomes"
allow "$inventory" --operation Read --resource-pattern-type prefixed --group inventory

# KEDA reads the lag.
allow "$keda" --operation Describe --topic "$submissions"
allow "$keda" --operation Describe --group "$group"
