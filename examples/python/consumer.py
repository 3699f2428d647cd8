"""An inventory: does what events say, each once, whatever is killed and however often an event comes.

KAFKA_BOOTSTRAP_SERVERS   the brokers
INVENTORY_DATABASE        the inventory's PostgreSQL, with the tables of examples/inventory.sql
KAFKA_GROUP_ID, KAFKA_SESSION_TIMEOUT_MS    inventory and 10000 unless set
"""

import json
import os
import signal
import sys

import psycopg2
from confluent_kafka import Consumer, KafkaException

TOPIC = "receipt-outcomes"


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
    """Within one transaction. False where the event came before."""
    sql.execute("INSERT INTO handled_events (event_id) VALUES (%(event_id)s) ON CONFLICT DO NOTHING", event)
    if sql.rowcount == 0:
        return False
    units = units_of(event)
    if units is None:
        return True
    sql.execute("INSERT INTO purchases (transaction_id) VALUES (%(transaction_id)s) ON CONFLICT DO NOTHING", event)
    sql.execute("SELECT revision, units FROM purchases WHERE transaction_id = %(transaction_id)s FOR UPDATE", event)
    revision, before = sql.fetchone()
    # A refund may overtake its grant: what is older than what is known says nothing any more.
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


def main():
    database = psycopg2.connect(os.environ["INVENTORY_DATABASE"])
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
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    while not stopping:
        record = consumer.poll(0.2)
        if record is None:
            continue
        if record.error():
            print(record.error(), file=sys.stderr)
            continue
        event = json.loads(record.value())
        # Commits at the end of the block, or rolls back and ends this process: the event comes again.
        with database, database.cursor() as sql:
            is_new = handle(event, sql)
        try:
            consumer.store_offsets(record)
        except KafkaException as error:
            # The partition is another consumer's by now. The event comes again there, and is known.
            print(error, file=sys.stderr)
        print("handled" if is_new else "repeated", event["type"], event["event_id"], flush=True)
    consumer.close()


main()
