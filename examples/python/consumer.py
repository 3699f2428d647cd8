"""An inventory: it applies each event once, however often the event comes, and whichever process is killed.

KAFKA_BOOTSTRAP_SERVERS   the brokers
INVENTORY_DATABASE        the inventory's PostgreSQL, with the tables of examples/inventory.sql
KAFKA_GROUP_ID, KAFKA_SESSION_TIMEOUT_MS    default: inventory and 10000
"""

import json
import os
import signal
import sys
import time
import uuid

import psycopg2
from confluent_kafka import Consumer, KafkaException

TOPIC = "receipt-outcomes"
GOODS = {"receipt.granted", "receipt.reinstated", "receipt.revoked"}
RETRY_SECONDS = 1


def event_in(value):
    """Returns the event in a record's value. Raises ValueError if the value is no event. An event may have an unknown type."""
    try:
        event = json.loads(value)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(event, dict):
        raise ValueError("it is no JSON object")
    texts, numbers = ["event_id", "type"], []
    if event.get("type") in GOODS:
        texts += ["transaction_id", "player_id", "product_id"]
        numbers += ["revision", "quantity"]
        if event["type"] == "receipt.revoked":
            numbers.append("units")
    wrong = [name for name in texts if not isinstance(event.get(name), str)]
    wrong += [name for name in numbers if type(event.get(name)) is not int]
    if wrong:
        raise ValueError(f"missing, or of another type: {', '.join(wrong)}")
    uuid.UUID(event["event_id"])
    return event


def units_of(event):
    """Returns the units that the player has of the transaction after this event; None if the event is not about goods."""
    match event["type"]:
        case "receipt.granted" | "receipt.reinstated":
            return event["quantity"]
        case "receipt.revoked":
            # `units` is the total of revoked units.
            return event["quantity"] - event["units"]
        case _:
            return None


def handle(event, sql):
    """Applies the event within one SQL transaction. Returns False if the event came before."""
    sql.execute("INSERT INTO handled_events (event_id) VALUES (%(event_id)s) ON CONFLICT DO NOTHING", event)
    if sql.rowcount == 0:
        return False
    units = units_of(event)
    if units is None:
        return True
    sql.execute("INSERT INTO purchases (transaction_id) VALUES (%(transaction_id)s) ON CONFLICT DO NOTHING", event)
    sql.execute("SELECT revision, units FROM purchases WHERE transaction_id = %(transaction_id)s FOR UPDATE", event)
    revision, before = sql.fetchone()
    # A refund may overtake its grant: an event with an older revision changes nothing.
    if event["revision"] <= revision:
        return True
    sql.execute(
        "UPDATE purchases SET revision = %(revision)s, units = %(units)s WHERE transaction_id = %(transaction_id)s",
        {**event, "units": units})
    # The inventory's own table changes in the same SQL transaction, so PostgreSQL stores all changes or none.
    sql.execute(
        "INSERT INTO inventory (player_id, product_id, units) VALUES (%(player_id)s, %(product_id)s, %(change)s) "
        "ON CONFLICT (player_id, product_id) DO UPDATE SET units = inventory.units + excluded.units",
        {**event, "change": units - before})
    return True


def set_aside(record, reason, sql):
    """Stores a record that is no event, for a person to look at. The consumer then goes on with the next record."""
    sql.execute(
        "INSERT INTO set_aside (topic, partition, record_offset, reason, value) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (record.topic(), record.partition(), record.offset(), reason.replace("\0", ""), record.value()))


class Inventory:
    def __init__(self, address):
        self.address = address
        self.connection = None

    def transaction(self, work):
        """Connects if there is no connection, and runs the work in one SQL transaction."""
        if self.connection is None or self.connection.closed:
            self.connection = psycopg2.connect(self.address)
        with self.connection, self.connection.cursor() as sql:
            return work(sql)

    def take(self, record):
        """Tries once to apply a record. Returns the words of the line to print."""
        try:
            event = event_in(record.value())
            is_new = self.transaction(lambda sql: handle(event, sql))
            return "handled" if is_new else "repeated", event["type"], event["event_id"]
        except (ValueError, psycopg2.DataError, psycopg2.IntegrityError) as error:
            # No further try can succeed, because the value stays the same.
            reason = str(error).strip()
            self.transaction(lambda sql: set_aside(record, reason, sql))
            return "set-aside", f"{record.topic()}/{record.partition()}/{record.offset()}", reason


def main():
    missing = [name for name in ("KAFKA_BOOTSTRAP_SERVERS", "INVENTORY_DATABASE") if not os.environ.get(name)]
    if missing:
        sys.exit(f"set {' and '.join(missing)}")
    inventory = Inventory(os.environ["INVENTORY_DATABASE"])
    consumer = Consumer({
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "group.id": os.environ.get("KAFKA_GROUP_ID", "inventory"),
        "auto.offset.reset": "earliest",
        # Every few seconds librdkafka commits the offsets of stored events. After a kill the other events come again.
        "enable.auto.offset.store": False,
        "session.timeout.ms": int(os.environ.get("KAFKA_SESSION_TIMEOUT_MS", "10000")),
    })
    consumer.subscribe([TOPIC])
    stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.append(True))
    while not stopping:
        record = consumer.poll(0.2)
        if record is None:
            continue
        if record.error():
            print(record.error(), file=sys.stderr)
            continue
        told = None
        while told is None and not stopping:
            try:
                told = inventory.take(record)
            except psycopg2.Error as error:
                # PostgreSQL is out of reach, or lacks a table or a right. The record waits until somebody repairs this.
                print(f"trying again in {RETRY_SECONDS} s: {error}", file=sys.stderr, flush=True)
                time.sleep(RETRY_SECONDS)
        if told is None:
            break
        try:
            consumer.store_offsets(record)
        except KafkaException as error:
            # Another consumer has the partition now. It reads the event again, and ignores it as a repeat.
            print(error, file=sys.stderr)
        print(*told, flush=True)
    consumer.close()


main()
