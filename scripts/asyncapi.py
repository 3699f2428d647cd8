"""Checks an AsyncAPI document by the rules of AsyncAPI 3, with the package asyncapi3.

Then checks that asyncapi3 refuses the document with each planted fault. A validator that accepts everything would prove
nothing."""

import sys
import warnings

import yaml
from pydantic import ValidationError

# Two models of asyncapi3 have a field `schema`, about which pydantic would warn.
warnings.filterwarnings("ignore", message='Field name "schema"')
from asyncapi3.models import AsyncAPI3  # noqa: E402

# Each fault is a place, and the value to put there. None removes the place.
FAULTS = [
    ("asyncapi", "2.6.0"),
    ("chanels", {}),
    ("info/title", None),
    ("channels/outcomes/address", 1),
    ("channels/outcomes/adress", "receipt-outcomes"),
    ("channels/accounts/bindings/kafka/topicConfiguration/cleanup.policy", ["compress"]),
    ("operations/readSubmissions/action", "subscribe"),
    ("operations/readSubmissions/channel", None),
    ("components/messages/granted/payloads", {}),
    ("components/message", {}),
]


def broken(text, place, value):
    # Parses the text again, because a value that YAML's anchors share would change in several places.
    document = yaml.safe_load(text)
    *path, last = place.split("/")
    at = document
    for name in path:
        at = at[name]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return document


def fault(document):
    try:
        AsyncAPI3.model_validate(document)
    except ValidationError as error:
        return str(error)
    return None


def main(path):
    text = open(path, encoding="utf-8").read()
    said = fault(yaml.safe_load(text))
    if said:
        sys.exit(f"{path}: {said}")
    for place, value in FAULTS:
        if not fault(broken(text, place, value)):
            sys.exit(f"{path}: with a fault at {place} it is taken all the same")
    print(f"{path}: AsyncAPI 3, and refused with each of {len(FAULTS)} faults")


main(*sys.argv[1:])
