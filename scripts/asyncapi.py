"""Holds an AsyncAPI document against the rules of AsyncAPI 3, as asyncapi3 of scripts/deploy-tools.txt has them, and then that
these rules refuse the same document with a fault in it: a validator that takes anything would say nothing."""

import sys
import warnings

import yaml
from pydantic import ValidationError

# Two of its models have a field `schema`, which pydantic would warn of.
warnings.filterwarnings("ignore", message='Field name "schema"')
from asyncapi3.models import AsyncAPI3  # noqa: E402

# Where, what is put there, and None where it is taken away.
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
    # Read anew: what YAML's anchors share would be changed in several places.
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
