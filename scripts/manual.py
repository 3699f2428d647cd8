"""Writes the manual pages of receiptd, one for each command, from the help dump of its argument parser.

usage: receiptd --experimental-dump-help | scripts/manual.py VERSION DATE PREFIX FOLDER     PREFIX such as /usr
"""

import json
import pathlib
import re
import sys

VERSION, DATE, PREFIX, FOLDER = sys.argv[1:5]

EXIT_STATUS = [
    ("0", "Done."),
    ("1", "Unexpected, or what was asked for is not so: the message says what."),
    ("64", "Wrong usage."),
    ("69", "A service could not be reached, the HTTP port is taken, or the schema is missing or too old."),
    ("78", "Wrong settings: every fault is listed. Another start would end the same way."),
]
ENVIRONMENT = [
    ("KAFKA_BOOTSTRAP_SERVERS", "Where Kafka is. Required by what reads or writes topics."),
    ("DATABASE_URL", "Where PostgreSQL is, as a libpq URI. Required by what reads or writes the ledger."),
    ("NAME_FILE", "The path of a file that holds the secret NAME, in its place: DATABASE_URL_FILE."),
]
FILES = [
    ("/etc/receiptd/receiptd.env", f"Settings of the service. An example is in {PREFIX}/share/doc/receiptd/examples."),
    ("/etc/receiptd/credentials", "Its secrets, one file each."),
    (f"{PREFIX}/share/doc/receiptd/docs/settings.md", "All settings."),
    (f"{PREFIX}/share/doc/receiptd/docs/operations.md", "How to run it."),
    (f"{PREFIX}/share/doc/receiptd/docs/runbooks.md", "What to do when an alert comes."),
    (f"{PREFIX}/share/receiptd", "The tables, roles, ACLs, alert rules and a dashboard."),
]


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    # roff would take a line that begins with one of these characters for a request.
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def paragraphs(text):
    return "\n.PP\n".join(escaped(part.strip()) for part in re.split(r"\n\s*\n", text) if part.strip())


def spelled(name):
    return ("-" if name["kind"] == "short" else "--") + name["name"]


def value(argument):
    return f"\\fI{escaped(argument['valueName'])}\\fR"


def dots(argument):
    return "\\ ..." if argument["isRepeating"] else ""


def usage(argument):
    if argument["kind"] == "positional":
        text = value(argument) + dots(argument)
    else:
        text = f"\\fB{escaped(spelled(argument['preferredName']))}\\fR"
        if argument["kind"] == "option":
            text += f"\\ {value(argument)}{dots(argument)}"
    return f"[{text}]" if argument["isOptional"] else text


def head(argument):
    if argument["kind"] == "positional":
        return value(argument)
    names = ", ".join(f"\\fB{escaped(spelled(name))}\\fR" for name in argument["names"])
    return f"{names} {value(argument)}" if argument["kind"] == "option" else names


def meaning(argument):
    text = argument.get("abstract", "")
    if argument.get("discussion"):
        text += "\n\n" + argument["discussion"]
    # Some defaults are of the machine that makes the page, such as "(default: root)". The argument's own text then
    # states the general default.
    if argument.get("defaultValue") and "Default:" not in text:
        text += f" Default: {argument['defaultValue']}."
    if argument.get("allValues"):
        text += f" One of {', '.join(argument['allValues'])}."
    return paragraphs(text.strip())


def listed(title, entries):
    return [f".SH {title}"] + [line for entry in entries for line in (".TP", *entry)] if entries else []


def shown(items):
    return [item for item in items if item["shouldDisplay"]]


def page(command, parents):
    """Returns the page's name (receiptd-catalog-import), its text, the subcommands and the words of the name."""
    words = [*parents, command["commandName"]]
    arguments = shown(command.get("arguments", []))
    # The synopses leave out --version and --help, which are the same for every command.
    own = [argument for argument in arguments if argument["valueName"] not in ("version", "help")]
    subcommands = [below for below in shown(command.get("subcommands", [])) if below["commandName"] != "help"]
    synopsis = f".B {escaped(' '.join(words))}"
    if subcommands:
        below = "\n\\fIcommand\\fR ..."
    else:
        below = "".join("\n" + usage(argument) for argument in own)
    lines = [
        f'.TH "{escaped("-".join(words)).upper()}" 1 "{DATE}" "receiptd {VERSION}" "receiptd"',
        ".SH NAME",
        f"{escaped('-'.join(words))} \\- {escaped(command.get('abstract', '').rstrip('.'))}",
        ".SH SYNOPSIS",
        synopsis + below,
        ".SH DESCRIPTION",
        paragraphs(command.get("abstract", "") + "\n\n" + command.get("discussion", "")),
    ]
    lines += listed("COMMANDS", [(f"\\fB{escaped(below['commandName'])}\\fR", escaped(below.get("abstract", "")))
                                 for below in subcommands])
    lines += listed("ARGUMENTS", [(head(a), meaning(a)) for a in arguments if a["kind"] == "positional"])
    lines += listed("OPTIONS", [(head(a), meaning(a)) for a in arguments if a["kind"] != "positional"])
    related = [words + [below["commandName"]] for below in subcommands]
    if not parents:
        for title, entries in (("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
            lines += listed(title, [(f"\\fB{escaped(name)}\\fR", escaped(text)) for name, text in entries])
    else:
        related.insert(0, parents)
    lines += [".SH SEE ALSO", "\n".join(f".BR {escaped('-'.join(other))} (1)" for other in related)]
    return "-".join(words), "\n".join(lines) + "\n", subcommands, words


def write(command, parents):
    name, text, subcommands, words = page(command, parents)
    (pathlib.Path(FOLDER) / f"{name}.1").write_text(text)
    for below in subcommands:
        write(below, words)


pathlib.Path(FOLDER).mkdir(parents=True, exist_ok=True)
write(json.load(sys.stdin)["command"], [])
