#!/usr/bin/env python3
"""Fails if PromQL of the deploy files, or a document, names a metric or a label that receiptd does not have.

usage: check-promql.py RULES_FILE     by scripts/check-deploy.sh, with the packages of scripts/deploy-tools.txt

Reads the alert rules, the dashboards and KEDA's triggers. Writes every expression of the dashboards into RULES_FILE, as
recording rules, because promtool must accept them too.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import promql_parser as promql
import yaml

# The labels that Prometheus adds to every series of a target.
TARGET_LABELS = frozenset({"instance", "job", "namespace", "pod", "container"})
# The series that Prometheus makes by itself, and their labels.
OWN_SERIES = {"ALERTS": {"alertname", "alertstate", "severity"}, "up": set()}
OF_COUNTERS = {"rate", "irate", "increase", "resets"}
# Grafana replaces these variables before Prometheus gets the query.
GRAFANA_VARIABLES = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "1h"}

faults: list[str] = []


def fault(place: str, text: str) -> None:
    faults.append(f"{place}: {text}")


@dataclass(frozen=True)
class Metric:
    name: str
    labels: frozenset[str]
    is_histogram: bool

    @property
    def is_counter(self) -> bool:
        return self.name.endswith("_total")


def metrics() -> dict[str, Metric]:
    """Returns the metrics that the sources declare, by name."""
    declaration = re.compile(
        r'\(\s*"((?:receiptd|process)_\w+)",\s*help:\s*"[^"]*"(?:,\s*labels:\s*\[([^\]]*)\])?(,\s*buckets:)?')
    found = {}
    for file in sorted(Path("Sources/Operations").rglob("*.swift")):
        for name, labels, buckets in declaration.findall(file.read_text()):
            found[name] = Metric(name, frozenset(re.findall(r'"(\w+)"', labels)), bool(buckets))
    if len(found) < 20:
        sys.exit("check-promql: Sources/Operations declares hardly any metrics: has their form changed?")
    return found


METRICS = metrics()


def series_labels(name: str, place: str) -> set[str]:
    """Returns the labels of a series that a target or Prometheus itself has. Reports an unknown metric."""
    if name in OWN_SERIES:
        return OWN_SERIES[name] | TARGET_LABELS
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    if base in METRICS and METRICS[base].is_histogram:
        if name == base:
            fault(place, f"{name} is a histogram: it has _bucket, _sum and _count only")
        return set(METRICS[base].labels | TARGET_LABELS) | ({"le"} if name.endswith("_bucket") else set())
    if name not in METRICS:
        fault(place, f"there is no metric {name}")
        return set(TARGET_LABELS)
    return set(METRICS[name].labels | TARGET_LABELS)


# `labels_of` gets this text in place of a function's name for an operand of `unless`.
NEW_SERIES = "unless"


def labels_of(node: promql.Expr, place: str, function: str = "") -> set[str]:
    """Returns the labels that a result may have. Reports the unknown metrics and labels that the expression names."""
    match node:
        case promql.VectorSelector():
            known = series_labels(node.name or "", place)
            for matcher in node.matchers.matchers:
                if matcher.name not in known and matcher.name != "__name__":
                    fault(place, f"{node.name} has no label {matcher.name}")
            name = node.name or ""
            counts = name.endswith(("_total", "_bucket", "_sum", "_count"))
            if function in OF_COUNTERS and not counts:
                fault(place, f"{function} of {name}, which is no counter")
            if name in METRICS and METRICS[name].is_counter and function not in OF_COUNTERS | {"absent", NEW_SERIES}:
                fault(place, f"{name} is a counter: take its rate or increase")
            return known
        case promql.MatrixSelector():
            return labels_of(node.vector_selector, place, function)
        case promql.Call():
            name = node.func.name
            found = [labels_of(argument, place, name) for argument in node.args]
            if name == "vector":
                return set()
            return set().union(*found) - ({"le"} if name == "histogram_quantile" else set())
        case promql.AggregateExpr():
            below = labels_of(node.expr, place)
            if node.modifier is None:
                return set()
            listed = set(node.modifier.labels)
            for label in listed - below:
                fault(place, f"an aggregation over {label}, which {node.expr} does not have")
            return listed if node.modifier.type == promql.AggModifierType.By else below - listed
        case promql.BinaryExpr():
            # A rule may use a new counter's whole value (`unless`), because no rate includes a counter's first
            # increase.
            function = NEW_SERIES if str(node.op) == "unless" else ""
            return labels_of(node.lhs, place, function) | labels_of(node.rhs, place, function)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            return labels_of(node.expr, place, function)
        case _:
            return set()


def check(expression: str, place: str) -> set[str]:
    try:
        return labels_of(promql.parse(expression), place)
    except ValueError as error:
        fault(place, f"{error}: {expression}")
        return set()


def check_legend(text: str, known: set[str], place: str) -> None:
    for label in re.findall(r"{{\s*(?:\$labels\.)?(\w+)\s*}}", text):
        if label not in known:
            fault(place, f"{{{{{label}}}}} is no label of the result")


def check_alerts(path: Path) -> None:
    for group in yaml.safe_load(path.read_text())["groups"]:
        for rule in group["rules"]:
            place = f"{path}: {rule.get('alert') or rule.get('record')}"
            known = check(rule["expr"], place)
            for text in rule.get("annotations", {}).values():
                check_legend(text, known, place)


def triggers(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the name and the PromQL of each of KEDA's Prometheus triggers."""
    for document in yaml.safe_load_all(path.read_text()):
        if document and document.get("kind") == "ScaledObject":
            for trigger in document["spec"]["triggers"]:
                if trigger["type"] == "prometheus":
                    yield trigger.get("name", "prometheus"), trigger["metadata"]["query"]


def with_variables(text: str, variables: dict[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace("${" + name[1:] + "}", value).replace(name, value)
    return text


def panels(dashboard: dict) -> Iterator[dict]:
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def check_dashboard(path: Path) -> Iterator[str]:
    """Yields the expressions as Prometheus gets them."""
    dashboard = json.loads(path.read_text())
    variables = dict(GRAFANA_VARIABLES)
    sources = set()
    for variable in dashboard["templating"]["list"]:
        variables["$" + variable["name"]] = ".*"
        if variable["type"] == "datasource":
            sources.add("${" + variable["name"] + "}")
            continue
        name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
        if label not in series_labels(name, f"{path}: ${variable['name']}"):
            fault(f"{path}: ${variable['name']}", f"{name} has no label {label}")
    identifiers, places = set(), set()
    for panel in panels(dashboard):
        place = f"{path}: {panel['title']}"
        if panel["id"] in identifiers:
            fault(place, f"the id {panel['id']} is another panel's too")
        identifiers.add(panel["id"])
        box = panel["gridPos"]
        for cell in {(x, y) for x in range(box["x"], box["x"] + box["w"]) for y in range(box["y"], box["y"] + box["h"])}:
            if cell in places or cell[0] >= 24:
                fault(place, "is on top of another panel, or outside of the grid")
                break
            places.add(cell)
        if panel["type"] == "row":
            continue
        for target in panel["targets"]:
            if target["datasource"]["uid"] not in sources:
                fault(place, "takes another data source than the dashboard's variable")
            expression = with_variables(target["expr"], variables)
            if unknown := re.findall(r"\$\w+", expression):
                fault(place, f"there is no variable {unknown[0]}")
            check_legend(target["legendFormat"], check(expression, place), place)
            yield expression
    for annotation in dashboard["annotations"]["list"]:
        check(annotation["expr"], f"{path}: {annotation['name']}")
        yield annotation["expr"]


def check_documents() -> None:
    """Checks that a document has every metric with its labels, and that no document has any other metric."""
    told: set[str] = set()
    for path in [Path("docs/contract/commands.md"), Path("docs/operations.md")]:
        for name, labels in re.findall(r"`((?:receiptd|process)_[a-z_]+)(?:{([^}`]*)})?`", path.read_text()):
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            metric = METRICS.get(name) or METRICS.get(base)
            if metric is None:
                if name.endswith(("_total", "_seconds", "_bytes")) or labels:
                    fault(str(path), f"there is no metric {name}")
                continue
            given = frozenset(part.split("=")[0].rstrip("!~").strip() for part in labels.split(",") if part)
            if "=" in labels or not labels:
                wrong = given - metric.labels
            else:
                wrong = given ^ metric.labels
            if wrong:
                fault(str(path), f"{name} has the labels {sorted(metric.labels)}, not {sorted(given)}")
            told.add(metric.name)
    for name in sorted(METRICS.keys() - told):
        fault("docs/operations.md", f"{name} is not described")


def main() -> None:
    expressions: list[str] = []
    check_alerts(Path("deploy/alerts.yaml"))
    for path in sorted(Path("deploy/grafana").glob("*.json")):
        expressions += check_dashboard(path)
    for path in sorted(Path("deploy").rglob("*.yaml")):
        if path.name.startswith("scaledobject"):
            for name, query in triggers(path):
                check(query, f"{path}: {name}")
                expressions.append(query)
    check_documents()
    for text in faults:
        print(text, file=sys.stderr)
    if faults:
        sys.exit(f"check-promql: {len(faults)} faults")
    rules = [{"record": f"dashboard:{number}", "expr": text} for number, text in enumerate(expressions)]
    Path(sys.argv[1]).write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))


main()
