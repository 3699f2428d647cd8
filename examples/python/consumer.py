"""An inventory: does what events say, each once, whatever is killed and however often an event comes.

KAFKA_BOOTSTRAP_SERVERS   the brokers
INVENTORY_DATABASE        the inventory's PostgreSQL, with the tables of examples/inventory.sql
KAFKA_GROUP_ID, KAFKA_SESSION_TIMEOUT_MS    inventory and 10000 unless set
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
    """The event in a record's value. Raises ValueError where the value is no event; types that are not known are events."""
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
    """What the transaction is worth after this event; None where it says nothing of goods."""
    match event["type"]:
        case "receipt.granted" | "receipt.reinstated":
            return event["quantity"]
        case "receipt.revoked":
            # `units` is what is taken back in all, of a part too.
            return event["quantity"] - event["units"]
        case _:
            return None


def handle(event, sql):
    """Within one SQL transaction. False where the event came before."""
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
    # The inventory's own table, in the same transaction: both are there, or neither.
    sql.execute(
        "INSERT INTO inventory (player_id, product_id, units) VALUES (%(player_id)s, %(product_id)s, %(change)s) "
        "ON CONFLICT (player_id, product_id) DO UPDATE SET units = inventory.units + excluded.units",
        {**event, "change": units - before})
    return True


def set_aside(record, reason, sql):
    """Keeps a record that is no event for a person to look at, so that the partition goes on behind it."""
    sql.execute(
        "INSERT INTO set_aside (topic, partition, record_offset, reason, value) VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (record.topic(), record.partition(), record.offset(), reason.replace("\0", ""), record.value()))


class Inventory:
    def __init__(self, address):
        self.address = address
        self.connection = None

    def transaction(self, work):
        """Connects where it has to, and commits what the work did, or nothing of it."""
        if self.connection is None or self.connection.closed:
            self.connection = psycopg2.connect(self.address)
        with self.connection, self.connection.cursor() as sql:
            return work(sql)

    def take(self, record):
        """One try. Returns the word and the event's type and id for the log."""
        try:
            event = event_in(record.value())
            is_new = self.transaction(lambda sql: handle(event, sql))
            return "handled" if is_new else "repeated", event["type"], event["event_id"]
        except (ValueError, psycopg2.DataError, psycopg2.IntegrityError) as error:
            # The value will be the same at each try.
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
        # Only what is in the database is committed to Kafka, every few seconds. What a kill leaves uncommitted comes again.
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
                # PostgreSQL is away, or lacks a table or a right: the record waits until that is mended.
                print(f"trying again in {RETRY_SECONDS} s: {error}", file=sys.stderr, flush=True)
                time.sleep(RETRY_SECONDS)
        if told is None:
            break
        try:
            consumer.store_offsets(record)
        except KafkaException as error:
            # The partition is another consumer's by now. The event comes again there, and is known.
            print(error, file=sys.stderr)
        print(*told, flush=True)
    consumer.close()


main()
