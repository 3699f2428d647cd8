"""Publishes the submissions on standard input, one JSON object a line.

KAFKA_BOOTSTRAP_SERVERS   the brokers
SUBMISSION_SIGNING_KEY    one of receiptd's SUBMISSION_SIGNING_KEYS, if it has any
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
    # Java's partitioner, which all producers of the topic must use. It is not librdkafka's default.
    "partitioner": "murmur2_random",
    # Kafka acknowledges a submission when all in-sync replicas have it. A retry neither doubles nor reorders submissions.
    "enable.idempotence": True,
    "acks": "all",
})
key = os.environ.get("SUBMISSION_SIGNING_KEY", "").encode()
failures = []


def signature(kind, record_key, value):
    """Returns the header receiptd-signature, version v2, which covers the record's kind, key and value."""
    signed = b"receiptd-v2\n%s\n%d\n%s%s" % (kind.encode(), len(record_key), record_key, value)
    return "v2=" + hmac.new(key, signed, hashlib.sha256).hexdigest()


def submission_in(line):
    """Returns the submission in a line. Raises ValueError, which names the missing field."""
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
        # The producer still sends the other lines.
        failures.append(f"line {number} is not sent: {error}")
        continue
    # The producer signs exactly the bytes that it sends.
    value = json.dumps(submission, separators=(",", ":")).encode()
    # A game server passes on the traceparent of the request that it serves. receiptd copies it to the events.
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
