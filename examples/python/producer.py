"""Publishes submissions, one JSON object a line of standard input.

KAFKA_BOOTSTRAP_SERVERS   the brokers
SUBMISSION_SIGNING_KEY    one of receiptd's SUBMISSION_SIGNING_KEYS, where it has any
"""

import hashlib
import hmac
import json
import os
import secrets
import sys

from confluent_kafka import Producer

TOPIC = "receipt-submissions"

producer = Producer({
    "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
    # Java's. The default of librdkafka is another one, and all producers of the topic must use the same.
    "partitioner": "murmur2_random",
    # A submission counts once all replicas have it. A retry neither doubles nor reorders it.
    "enable.idempotence": True,
    "acks": "all",
})
key = os.environ.get("SUBMISSION_SIGNING_KEY", "").encode()
failures = []


def signature(kind, record_key, value):
    """The header receiptd-signature, v2: it covers what kind of record this is, the record's key and its value."""
    signed = b"receiptd-v2\n%s\n%d\n%s%s" % (kind.encode(), len(record_key), record_key, value)
    return "v2=" + hmac.new(key, signed, hashlib.sha256).hexdigest()


def delivered(error, message):
    if error is not None:
        failures.append(f"{message.key().decode()}: {error}")


for line in sys.stdin:
    submission = json.loads(line)
    # What is signed are the bytes that are sent.
    value = json.dumps(submission, separators=(",", ":")).encode()
    # A game server hands on the trace of the request that it serves. The events will have it too.
    headers = [("traceparent", f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01")]
    if key:
        headers.append(("receiptd-signature", signature(TOPIC, submission["player_id"].encode(), value)))
    while True:
        try:
            producer.produce(TOPIC, value, submission["player_id"], headers=headers, on_delivery=delivered)
            break
        except BufferError:
            producer.poll(0.1)
    producer.poll(0)

unsent = producer.flush(30)
if failures or unsent:
    sys.exit("\n".join(failures) or f"{unsent} submissions are not acknowledged: send them again")
