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
REQUIRED = ["submission_id", "player_id", "bundle_id"]
PROOFS = ["receipt_data", "signed_transaction", "transaction_id"]

if not os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
    sys.exit("set KAFKA_BOOTSTRAP_SERVERS")
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


def submission_in(line):
    """The submission in a line. Raises ValueError that says what is missing."""
    submission = json.loads(line)
    if not isinstance(submission, dict):
        raise ValueError("it is no JSON object")
    missing = [name for name in REQUIRED if not isinstance(submission.get(name), str) or not submission[name]]
    if sum(submission.get(name) is not None for name in PROOFS) != 1:
        missing.append(f"one of {', '.join(PROOFS)}")
    if missing:
        raise ValueError(f"missing: {'; '.join(missing)}")
    return submission


def delivered(error, message):
    if error is not None:
        failures.append(f"{message.key().decode()}: {error}")


for number, line in enumerate(sys.stdin, 1):
    try:
        submission = submission_in(line)
    except ValueError as error:
        # The other lines are sent all the same.
        failures.append(f"line {number} is not sent: {error}")
        continue
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
