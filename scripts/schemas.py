"""Checks docs/schemas by its meta-schemas, the contract, the sample cases, the catalogs and the events in the FILEs.

usage: scripts/check-schemas.sh [--all-kinds] [FILE...]

A FILE has JSON lines: the value of an event, or the headers of a record as an object of texts.
"""

import base64
import collections
import datetime
import json
import pathlib
import re
import sys

import jsonschema
import yaml

SCHEMAS = pathlib.Path("docs/schemas")
PAGES = ("submissions", "events", "reasons", "catalog", "commands")
CONTRACT = {page: pathlib.Path(f"docs/contract/{page}.md").read_text() for page in PAGES}
# The sample cases with records that receiptd refuses, although a JSON Schema accepts them: a schema sees neither bytes
# nor repeated members.
NOT_EXPRESSIBLE = {"malformed-repeated-member", "malformed-nesting", "malformed-too-large"}
MOST_TOLD = 20

faults = []


def fault(place, message):
    faults.append(f"{place}: {message}")


class YAML12(yaml.SafeLoader):
    """Reads YAML by the core schema of YAML 1.2, as receiptd and editors do: `on` and times are text."""

    yaml_implicit_resolvers = {}


for tag, pattern, first in [
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+0123456789.")),
]:
    YAML12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), first)
YAML12.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
YAML12.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def read(name):
    return json.loads((SCHEMAS / name).read_text())


def errors(validator, value):
    """Yields each error as one line, with the place of the innermost error."""
    for error in validator.iter_errors(value):
        best = jsonschema.exceptions.best_match([error])
        path = "/".join(str(part) for part in best.absolute_path) or "the whole"
        yield f"{path}: {best.message[:200]}"


FORMATS = jsonschema.FormatChecker(formats=["uuid"])


@FORMATS.checks("date-time", raises=ValueError)
def is_time(text):
    return not isinstance(text, str) or bool(datetime.datetime.fromisoformat(text))


def validator(schema):
    return jsonschema.Draft202012Validator(schema, format_checker=FORMATS)


def strict(schema):
    """Returns the schema, which then refuses unknown fields. Consumers ignore new fields, but these checks do not."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed["additionalProperties"] = False
    return closed


def lenient(schema):
    """Returns the schema without required fields, because sample cases expect only parts of events."""
    if isinstance(schema, list):
        return [lenient(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: lenient(value) for key, value in schema.items() if key not in ("required", "if", "then", "else")}


def inlined(node, parts):
    """Returns the schema with its references replaced, because following references takes most of the time.

    A key beside a reference replaces the referenced key."""
    if isinstance(node, list):
        return [inlined(part, parts) for part in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        node = {**parts[node["$ref"].rsplit("/", 1)[1]], **{key: value for key, value in node.items() if key != "$ref"}}
    return {key: inlined(value, parts) for key, value in node.items() if key != "description"}


def sections(schema):
    """Returns a validator for each kind of event."""
    kinds = [part["$ref"].rsplit("/", 1)[1] for part in schema["oneOf"]]
    return {kind: validator(inlined(schema["$defs"][kind], schema["$defs"])) for kind in kinds}


# Checks of the schemas themselves.


def check_schemas(schemas):
    for name, schema in schemas.items():
        meta = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
        for error in errors(meta, schema):
            fault(name, error)
        if schema.get("$id", "").rsplit("/", 1)[-1] != name:
            fault(name, "its $id does not end in its name")
        for word in ("title", "description"):
            if not schema.get(word):
                fault(name, f"it has no {word}")
        for reference in references(schema):
            if not resolves(schema, reference):
                fault(name, f"{reference} leads nowhere")
        for example in schema.get("examples", []):
            for error in errors(validator(strict(schema)), example):
                fault(name, f"its example: {error}")


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from references(part)


def resolves(document, reference):
    if not reference.startswith("#"):
        return False
    for part in filter(None, reference[1:].split("/")):
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True


def table(page, first, heading=""):
    """Returns the rows of a page's first table, below `heading` if it is given, whose first column is named `first`."""
    text = CONTRACT[page].partition(heading)[2] if heading else CONTRACT[page]
    text = text[text.index(f"\n| {first} |") + 1 :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()[2:]]


def code(text):
    return re.findall(r"`([^`]+)`", text)


def same(place, ours, theirs, ordered=False):
    if (list(ours) != list(theirs)) if ordered else (set(ours) != set(theirs)):
        only = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
        fault(place, f"not what docs/contract has: only here {only[0]}, only there {only[1]}" if any(only) else
              "not in the order of docs/contract")


def check_contract(schemas):
    """Compares each list of names in the contract with the schemas."""
    event = schemas["event.schema.json"]
    parts = event["$defs"]
    kinds = [part["$ref"].rsplit("/", 1)[1] for part in event["oneOf"]]
    same("event.schema.json, kinds", kinds, [code(row[0])[0] for row in table("events", "`type`")], ordered=True)
    for kind in kinds:
        if parts[kind]["properties"]["type"] != {"const": kind}:
            fault("event.schema.json", f"{kind} does not say its type")
    reasons = table("reasons", "reason")
    same("event.schema.json, reasons", parts["reason"]["enum"], [name for row in reasons for name in code(row[0])], True)
    held = [code(row[0])[0] for row in reasons if "held" in row[1]]
    same("event.schema.json, reasons of holds", parts["hold_reason"]["enum"], held)
    revoked = parts["receipt.revoked"]["properties"]["reason"]["enum"]
    same("event.schema.json, reasons of all kinds",
         {*parts["rejection_reason"]["enum"], *parts["hold_reason"]["enum"], *revoked}, parts["reason"]["enum"])
    described = collections.defaultdict(set)
    short = {kind.rsplit(".", 1)[1]: kind for kind in kinds if kind.startswith("receipt.")}
    for row in table("events", "field"):
        where = row[1].split(",")
        for kind in short.values() if row[1] == "all" else [short[word.strip()] for word in where if word.strip() in short]:
            described[kind].update(code(row[0]))
        if row[1] == "with `transactions`":
            for kind in kinds:
                if "transactions" in described[kind]:
                    described[kind].update(code(row[0]))
    for kind in short.values():
        same(f"event.schema.json, fields of {kind}", parts[kind]["properties"], described[kind])
    submission = schemas["submission.schema.json"]
    same("submission.schema.json", submission["properties"], [code(row[0])[0] for row in table("submissions", "field")])
    required = [code(row[0])[0] for row in table("submissions", "field") if row[2] == "yes"]
    same("submission.schema.json, required", submission["required"], required)
    same("submission-headers.schema.json", schemas["submission-headers.schema.json"]["properties"],
         [code(row[0])[0] for row in table("submissions", "header")])
    letters = schemas["dead-letter-headers.schema.json"]["properties"]
    section = CONTRACT["submissions"].split("\n## Dead letters\n")[1].split("\n## ")[0]
    same("dead-letter-headers.schema.json", letters, re.findall(r"`(dead-letter-[a-z0-9-]+)`", section))
    rows = table("submissions", "header", "\n## Dead letters\n")
    row = next(row for row in rows if row[0] == "`dead-letter-reason`")
    same("dead-letter-headers.schema.json, reasons", letters["dead-letter-reason"]["enum"], code(row[1]))
    same("consumption.schema.json", schemas["consumption.schema.json"]["properties"],
         [code(row[0])[0] for row in table("catalog", "field")])
    catalog = schemas["catalog.schema.json"]["$defs"]
    same("catalog.schema.json, apps", catalog["app"]["properties"],
         [code(row[0])[0] for row in table("catalog", "key of an app")])
    same("catalog.schema.json, products", catalog["product"]["properties"],
         [code(row[0])[0] for row in table("catalog", "key of a product")])


# Checks of the AsyncAPI document.


def check_asyncapi(schemas):
    name = "asyncapi.yaml"
    document = yaml.load((SCHEMAS / name).read_text(), YAML12)
    used = set()
    for reference in references(document):
        file, _, pointer = reference.partition("#")
        used.add(reference)
        if file and file not in schemas:
            fault(name, f"there is no {file}")
        elif not resolves(schemas[file] if file else document, "#" + pointer):
            fault(name, f"{reference} leads nowhere")
    topics = {code(row[0])[0]: row[2] for row in table("submissions", "topic")}
    actions = {}
    for operation in document["operations"].values():
        channel = operation["channel"]["$ref"].rsplit("/", 1)[1]
        actions[document["channels"][channel]["address"]] = operation["action"]
    same(f"{name}, channels", [channel["address"] for channel in document["channels"].values()], topics)
    for topic, does in topics.items():
        if actions.get(topic) != ("receive" if does.startswith("reads") else "send"):
            fault(name, f"{topic}: no operation, or the wrong action")
    for message in document["components"]["messages"]:
        if f"#/components/messages/{message}" not in used:
            fault(name, f"no channel has the message {message}")
    kinds = {part["$ref"] for part in schemas["event.schema.json"]["oneOf"]}
    outcomes = [
        document["components"]["messages"][part["$ref"].rsplit("/", 1)[1]]
        for part in document["channels"]["outcomes"]["messages"].values()
    ]
    same(f"{name}, kinds of events", [message["payload"]["schema"]["$ref"] for message in outcomes],
         [f"event.schema.json{kind}" for kind in kinds])
    for message in outcomes:
        if not message["payload"]["schema"]["$ref"].endswith("/" + message["name"]):
            fault(name, f"{message['name']} has another one's payload")
    for file in schemas:
        if file != "catalog.schema.json" and not any(reference.split("#")[0] == file for reference in used):
            fault(name, f"it does not name {file}")


# Checks of records.


def record(line):
    """Returns the schema's name and the bytes of the value that a sample case's line sends; None if it sends none."""
    try:
        value = json.loads(line)
    except ValueError:
        return "submission", line
    if not isinstance(value, dict) or list(value) != ["$record"]:
        return "submission", line
    what = value["$record"]
    if "notification" in what:
        told = what["notification"]
        return "app-store-notification", (told if isinstance(told, str) else json.dumps(told)).encode()
    if "account" in what:
        return "player-account", json.dumps({"player_id": what["account"]["player_id"]}).encode()
    if "text" in what:
        return "submission", what["text"].encode()
    if "base64" in what:
        return "submission", base64.b64decode(what["base64"])
    if "submission" in what:
        return "submission", json.dumps(what["submission"]).encode()
    return None


def is_valid(checker, value):
    try:
        return checker.is_valid(json.loads(value.decode()))
    except ValueError:
        return False


def check_cases(schemas):
    """Checks that exactly the records that receiptd accepts are valid. Returns the numbers of records of each kind."""
    counts = collections.Counter()
    names = ("submission", "app-store-notification", "player-account")
    checkers = {name: validator(schemas[f"{name}.schema.json"]) for name in names}
    headers = validator(schemas["submission-headers.schema.json"])
    expected = sections(strict(lenient(schemas["event.schema.json"])))
    refused = set()
    for case in sorted(pathlib.Path("seeds/cases").iterdir()):
        answers = json.loads((case / "expected.json").read_text())
        lines = [line for line in (case / "submissions.jsonl").read_bytes().split(b"\n") if line.strip()]
        letters = len(answers.get("dead_letters", []))
        for number, line in enumerate(lines):
            told = record(line)
            if told is None:
                continue
            name, value = told
            events = answers["answers"][number] if number < len(answers["answers"]) else []
            # A case of notifications says how many notifications receiptd refuses, but not which. The schema accepts a
            # forged notification, because its form is right.
            if name != "submission" and letters:
                continue
            is_refused = letters == len(lines) or any(event.get("reason") == "malformed_submission" for event in events)
            counts["refused" if is_refused else "taken"] += 1
            place = f"{case}/submissions.jsonl:{number + 1}"
            if is_valid(checkers[name], value) == is_refused:
                if is_refused and case.name in NOT_EXPRESSIBLE:
                    refused.add(case.name)
                elif is_refused:
                    fault(place, f"receiptd refuses it, and {name}.schema.json does not")
                else:
                    for error in errors(checkers[name], json.loads(value)):
                        fault(place, error)
            sent = json.loads(line)["$record"].get("headers", {}) if line.startswith(b'{"$record"') else {}
            for error in errors(headers, sent):
                fault(place, f"headers: {error}")
        for event in [event for events in answers["answers"] for event in events]:
            event = {key: value for key, value in event.items() if key != "same_event_as"}
            counts["expected"] += 1
            for error in errors(expected[event["type"]], event):
                fault(f"{case}/expected.json", error)
        for letter in answers.get("dead_letters", []):
            if letter["reason"] not in schemas["dead-letter-headers.schema.json"]["properties"]["dead-letter-reason"]["enum"]:
                fault(f"{case}/expected.json", f"{letter['reason']} is no reason of a dead letter")
    for name in NOT_EXPRESSIBLE - refused:
        fault("scripts/schemas.py", f"{name} is said to be what a JSON Schema cannot refuse, and is refused or not there")
    return counts


def fenced(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def check_catalogs(schemas):
    checker = validator(schemas["catalog.schema.json"])
    catalogs = [("seeds/catalog.yaml", pathlib.Path("seeds/catalog.yaml").read_text())]
    for document in [pathlib.Path("README.md"), *sorted(pathlib.Path("docs").rglob("*.md"))]:
        catalogs += [(str(document), text) for text in fenced(document.read_text(), "yaml") if re.match(r"apps:", text)]
    for place, text in catalogs:
        for error in errors(checker, yaml.load(text, YAML12)):
            fault(place, error)
    # The schema must refuse these catalogs. A schema that accepts everything would pass the checks above.
    app = "apps: [{ bundle_id: a, products: [%s]%s }]"
    product = "{ product_id: p, kind: consumable%s }"
    for text in [
        "{}", "apps: []", app % ("", ", colour: red"), app % (product % ", late_periods: grant", ""),
        app % ("", ", finish: after_grant"), app % ("", ", renewals: follow"), app % ("", ", refund_check: on"),
        app % ("", ", consumption: { customer_consented: true }"), app % ("", ", sandbox: { policy: allowlist }"),
        app % ("", ", sandbox: { policy: accept, players: [p] }"), app % ("", ", shared_secret_setting: s3cret"),
        app % ("", ", currencies: []"), app % (product % ", daily_limit: 0", ""), app % ("", ", cutover: 2026-11-01"),
    ]:
        if checker.is_valid(yaml.load(text, YAML12)):
            fault("catalog.schema.json", f"it lets pass {text}")
    return len(catalogs)


def without_repeats(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a field is there twice")
    return dict(pairs)


class Seen:
    """Checks lines with events and headers of records by the strict schemas."""

    def __init__(self, schemas):
        self.kinds = sections(strict(schemas["event.schema.json"]))
        self.event_headers = validator(strict(schemas["event-headers.schema.json"]))
        # This schema is not strict, because a dead letter also has the headers of the original record.
        self.letter_headers = validator(schemas["dead-letter-headers.schema.json"])
        self.counts = collections.Counter()
        self.known = set()

    def check(self, place, line):
        # receiptd may publish an event several times. One check of the event is enough.
        if line in self.known:
            self.counts["repeated"] += 1
            return
        self.known.add(line)
        try:
            value = json.loads(line, object_pairs_hook=without_repeats)
            if "ce_id" in value:
                name, checker = "headers of events", self.event_headers
            elif "dead-letter-reason" in value:
                name, checker = "headers of dead letters", self.letter_headers
            else:
                name, checker = value["type"], self.kinds[value["type"]]
        except (ValueError, KeyError, TypeError) as error:
            fault(place, f"no event: {error!r}")
            return
        self.counts[name] += 1
        for error in errors(checker, value):
            fault(place, f"{name}: {error}")


def check_events(schemas, files):
    seen = Seen(schemas)
    for text in fenced(CONTRACT["events"], "json"):
        seen.check("docs/contract/events.md", text)
    # The kinds must exclude one another. Otherwise `oneOf` refuses an event that two kinds accept.
    whole = validator(schemas["event.schema.json"])
    for path in files:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip(b"\n")
                if line:
                    seen.check(f"{path}:{number}", line)
                if number <= 100 and b'"event_id"' in line:
                    for error in errors(whole, json.loads(line)):
                        fault(f"{path}:{number}", f"as a whole: {error}")
    return seen.counts


def main(arguments):
    files = [argument for argument in arguments if argument != "--all-kinds"]
    schemas = {path.name: read(path.name) for path in sorted(SCHEMAS.glob("*.schema.json"))}
    check_schemas(schemas)
    check_contract(schemas)
    check_asyncapi(schemas)
    cases = check_cases(schemas)
    catalogs = check_catalogs(schemas)
    events = check_events(schemas, files)
    if "--all-kinds" in arguments:
        wanted = ["headers of events", "headers of dead letters"] + [
            part["$ref"].rsplit("/", 1)[1] for part in schemas["event.schema.json"]["oneOf"]]
        for kind in wanted:
            if not events[kind]:
                fault("seen", f"no {kind}")
    if faults:
        print("\n".join(faults[:MOST_TOLD]), file=sys.stderr)
        print(f"check-schemas: {len(faults)} faults", file=sys.stderr)
        return 1
    print(f"{len(schemas)} schemas; records of sample cases: {cases['taken']} taken, {cases['refused']} refused, "
          f"{cases['expected']} events expected; {catalogs} catalogs")
    if files:
        print("seen: " + ", ".join(f"{count} {name}" for name, count in sorted(events.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
