#!/usr/bin/env python3
"""Fails if Kubernetes, KEDA or the Prometheus operator refuses deploy/kubernetes, or if its parts do not fit together.

usage: check-kubernetes.py SCALING_TEST     by scripts/check-deploy.sh, with the packages of scripts/deploy-tools.txt

Builds the kustomization with kubectl, checks each object by the schema of its kind without a cluster, and
checks the references between objects.

Writes deploy/kubernetes/scaling.test.yaml with KEDA's queries into SCALING_TEST, for promtool.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import kubernetes_validate
import yaml
from cloudcoil.models.keda import v1alpha1 as keda
from cloudcoil.models.prometheus_operator import v1 as prometheus
from kubernetes_validate import utils
from pydantic import ValidationError

FOLDER = Path("deploy/kubernetes")
KUBECTL = Path(".build/deploy-tools/bin/kubectl")
# The versions that scripts/deploy-tools.sh unpacks.
KUBERNETES_VERSIONS = [version.removesuffix("-local-strict") for version in utils.all_versions()]
CUSTOM_KINDS = {
    "ScaledObject": keda.ScaledObject,
    "PodMonitor": prometheus.PodMonitor,
    "PrometheusRule": prometheus.PrometheusRule,
}
# The least number of seconds between the end of the worker's own grace period and Kubernetes' kill.
MARGIN = 10

faults: list[str] = []


def fault(thing: dict, text: str) -> None:
    faults.append(f"{thing['kind']} {thing['metadata']['name']}: {text}")


def output(*command: str | Path) -> str:
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"check-kubernetes: {' '.join(map(str, command))}\n{ran.stderr}")
    return ran.stdout


def documents(text: str) -> list[dict]:
    return [document for document in yaml.safe_load_all(text) if document]


def unknown_keys(given: Any, taken: Any, path: str = "") -> list[str]:
    """Returns the keys of `given` that `taken` lacks. The model made `taken` of `given`, and ignores unknown keys."""
    if isinstance(given, dict) and isinstance(taken, dict):
        missing = [f"{path}.{key}" for key in given if key not in taken]
        return missing + [
            found for key in given if key in taken for found in unknown_keys(given[key], taken[key], f"{path}.{key}")]
    if isinstance(given, list) and isinstance(taken, list):
        return [
            found for number, pair in enumerate(zip(given, taken))
            for found in unknown_keys(*pair, f"{path}[{number}]")]
    return []


def check_schema(thing: dict) -> None:
    if model := CUSTOM_KINDS.get(thing["kind"]):
        try:
            made = model.model_validate(thing)
        except ValidationError as error:
            fault(thing, str(error))
            return
        for key in unknown_keys(thing, made.model_dump(by_alias=True, exclude_unset=True, mode="json")):
            fault(thing, f"{key[1:]} is no key of {thing['apiVersion']}")
        return
    for version in KUBERNETES_VERSIONS:
        try:
            kubernetes_validate.validate(thing, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            fault(thing, f"Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message}")
        except kubernetes_validate.SchemaNotFoundError as error:
            fault(thing, error.message)


def chooses(selector: dict, labels: dict[str, str]) -> bool:
    """Returns whether a LabelSelector selects an object with these labels. The only operator in use is NotIn."""
    expressions = selector.get("matchExpressions", [])
    if any(expression["operator"] != "NotIn" for expression in expressions):
        sys.exit(f"check-kubernetes: cannot follow {expressions}")
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(expression["key"]) not in expression["values"] for expression in expressions)


class Objects:
    def __init__(self, things: list[dict], secrets: list[dict]) -> None:
        self.things = things
        self.secrets = {secret["metadata"]["name"]: set(secret["stringData"]) for secret in secrets}
        self.maps = {thing["metadata"]["name"]: thing["data"] for thing in self.of("ConfigMap")}

    def of(self, *kinds: str) -> list[dict]:
        return [thing for thing in self.things if thing["kind"] in kinds]

    @property
    def workloads(self) -> list[dict]:
        return self.of("Deployment", "Job")

    def selected(self, selector: dict) -> list[dict]:
        return [
            thing for thing in self.workloads if chooses(selector, thing["spec"]["template"]["metadata"]["labels"])]


def check_secrets(thing: dict, objects: Objects) -> None:
    """Checks that each file that a container names is mounted there. Secrets come as files only."""
    pod = thing["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for container in pod["containers"]:
        files: set[str] = set()
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            if "secret" in volume:
                keys = objects.secrets.get(volume["secret"]["secretName"])
                if keys is None:
                    fault(thing, f"secrets.example.yaml has no {volume['secret']['secretName']}")
            else:
                keys = set(objects.maps.get(volume["configMap"]["name"], {}))
            files |= {f"{mount['mountPath']}/{key}" for key in keys or ()}
        for source in container.get("envFrom", []):
            if source["configMapRef"]["name"] not in objects.maps:
                fault(thing, f"there is no ConfigMap {source['configMapRef']['name']}")
        named = [variable["value"] for variable in container.get("env", []) if variable["name"].endswith("_FILE")]
        for path in named + [argument for argument in container["args"] if argument.startswith("/")]:
            if path not in files:
                fault(thing, f"nothing is mounted at {path}")


def check_settings(thing: dict, objects: Objects, catalog: str) -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)`", Path("docs/settings.md").read_text(), re.M))
    documented |= set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", Path("docs/settings.md").read_text()))
    documented |= set(re.findall(r"_setting: *(\w+)", catalog))
    for container in thing["spec"]["template"]["spec"]["containers"]:
        names = [variable["name"] for variable in container.get("env", [])]
        for source in container.get("envFrom", []):
            names += objects.maps.get(source["configMapRef"]["name"], {})
        for name in names:
            if name not in documented and name.removesuffix("_FILE") not in documented:
                fault(thing, f"{name} is no setting")


def check_hardening(thing: dict) -> None:
    pod = thing["spec"]["template"]["spec"]
    own = pod["securityContext"]
    if not own["runAsNonRoot"] or own["seccompProfile"]["type"] != "RuntimeDefault":
        fault(thing, "the pod is not restricted")
    if pod["automountServiceAccountToken"] or pod["enableServiceLinks"]:
        fault(thing, "the pod gets a token or variables that it does not need")
    for container in pod["containers"]:
        limits = container["securityContext"]
        if (limits["allowPrivilegeEscalation"] or not limits["readOnlyRootFilesystem"]
                or limits["capabilities"] != {"drop": ["ALL"]}):
            fault(thing, f"the container {container['name']} is not restricted")


def ports(thing: dict) -> set[str]:
    return {
        port["name"] for container in thing["spec"]["template"]["spec"]["containers"]
        for port in container.get("ports", [])}


def check_policies(objects: Objects) -> None:
    """Checks that policies limit each workload, and open Kafka to exactly the Deployments with a setting for it."""
    kafka = int(objects.maps[next(name for name in objects.maps if name.startswith("receiptd-settings"))][
        "KAFKA_BOOTSTRAP_SERVERS"].split(":")[1])
    for thing in objects.workloads:
        labels = thing["spec"]["template"]["metadata"]["labels"]
        policies = [
            policy["spec"] for policy in objects.of("NetworkPolicy")
            if chooses(policy["spec"]["podSelector"], labels)]
        if not any("Egress" in policy["policyTypes"] for policy in policies):
            fault(thing, "no NetworkPolicy says what it may reach")
        reached = {
            port["port"] for policy in policies for rule in policy.get("egress", []) for port in rule["ports"]}
        named = any(
            "KAFKA_BOOTSTRAP_SERVERS" in objects.maps[source["configMapRef"]["name"]]
            for container in thing["spec"]["template"]["spec"]["containers"]
            for source in container.get("envFrom", []))
        if thing["kind"] == "Deployment" and named != (kafka in reached):
            fault(thing, "it may reach Kafka" if kafka in reached else "it may not reach Kafka")


def check_references(objects: Objects) -> None:
    for service in objects.of("Service"):
        chosen = objects.selected({"matchLabels": service["spec"]["selector"]})
        if len(chosen) != 1:
            fault(service, f"it selects {len(chosen)} workloads")
        for port in service["spec"]["ports"]:
            if any(port["targetPort"] not in ports(thing) for thing in chosen):
                fault(service, f"there is no port {port['targetPort']}")
    for thing in objects.of("PodDisruptionBudget"):
        if len(objects.selected(thing["spec"]["selector"])) != 1:
            fault(thing, "it selects not one workload")
    for thing in objects.of("NetworkPolicy"):
        if not objects.selected(thing["spec"]["podSelector"]):
            fault(thing, "it selects no workload")
    check_policies(objects)
    for thing in objects.of("PodMonitor"):
        scraped = {
            workload["metadata"]["name"] for workload in objects.selected(thing["spec"]["selector"])
            if ports(workload) & {endpoint["port"] for endpoint in thing["spec"]["podMetricsEndpoints"]}}
        if scraped != {thing["metadata"]["name"] for thing in objects.of("Deployment")}:
            fault(thing, f"it scrapes {sorted(scraped)}")


def formula(text: str) -> Callable[[dict[str, float]], float]:
    """Returns a Python function for KEDA's formula `a > 0 ? b : c`. scaledobject.yaml uses no other form."""
    condition, yes, no = re.fullmatch(r"(.+?) \? (.+?) : (.+)", text).groups()
    return lambda values: eval(f"({yes}) if ({condition}) else ({no})", {"min": min, "__builtins__": {}}, values)


def check_scaling(objects: Objects) -> dict[str, str]:
    """Returns the queries by name."""
    scaled = objects.of("ScaledObject")[0]
    spec = scaled["spec"]
    target = [thing for thing in objects.of("Deployment") if thing["metadata"]["name"] == spec["scaleTargetRef"]["name"]]
    if not target or "replicas" in target[0]["spec"]:
        fault(scaled, "it scales no Deployment that leaves the number of replicas to it")
    modifiers = spec["advanced"]["scalingModifiers"]
    triggers = {trigger["name"]: trigger for trigger in spec["triggers"]}
    used = set(re.findall(r"[a-z]+", modifiers["formula"])) - {"min"}
    if used != set(triggers):
        fault(scaled, f"the formula uses {sorted(used)}, the triggers are {sorted(triggers)}")
    each = float(modifiers["target"])
    compute = formula(modifiers["formula"])
    # The result of the query `apple`, the number of workers, the number of waiting records, and the number of workers
    # that the formula must give.
    for apple, workers, lag, wanted in [
        (0, 2, 100, 0.2), (0, 2, 5000, 10), (0, 10, 0, 0),
        (1, 2, 5000, 2), (0.01, 6, 1e9, 6), (37, 6, 1000, 2), (1, 6, 0, 0),
    ]:
        found = compute({"apple": apple, "workers": workers, "lag": lag}) / each
        if found != wanted:
            fault(scaled, f"apple {apple}, {workers} workers, {lag} records: {found} workers, not {wanted}")
    kafka = triggers["lag"]["metadata"]
    for map_name, data in objects.maps.items():
        if map_name.startswith("receiptd-settings"):
            wanted = {
                "bootstrapServers": data["KAFKA_BOOTSTRAP_SERVERS"],
                "consumerGroup": data.get("KAFKA_GROUP_ID", "receiptd"),
                "topic": data.get("KAFKA_SUBMISSIONS_TOPIC", "receipt-submissions"),
            }
            for key, value in wanted.items():
                if kafka[key] != value:
                    fault(scaled, f"{key} is {kafka[key]}, the workers' {value}")
    names = {container["name"] for container in target[0]["spec"]["template"]["spec"]["containers"]}
    for trigger in triggers.values():
        query = trigger["metadata"].get("query", "")
        if set(re.findall(r'namespace="(\w+)"', query)) - {target[0]["metadata"]["namespace"]} or (
                set(re.findall(r'container="(\w+)"', query)) - names):
            fault(scaled, f"{trigger['name']} asks about other pods")
        if query and trigger["metadata"]["ignoreNullValues"] != "false":
            fault(scaled, f"{trigger['name']} takes no answer for 0")
    return {name: trigger["metadata"].get("query", "") for name, trigger in triggers.items()}


def write_scaling_test(queries: dict[str, str], path: Path) -> None:
    tests = yaml.safe_load((FOLDER / "scaling.test.yaml").read_text())
    for test in tests["tests"]:
        for expected in test["promql_expr_test"]:
            name, _, rest = expected["expr"].partition(" ")
            expected["expr"] = f"({queries[name]}) {rest}"
    path.write_text(yaml.safe_dump(tests))


def main() -> None:
    built = documents(output(KUBECTL, "kustomize", FOLDER))
    secrets = documents((FOLDER / "secrets.example.yaml").read_text())
    rules = documents(output(FOLDER / "prometheusrule.sh"))
    for thing in built + secrets + rules:
        check_schema(thing)
    if rules[0]["spec"] != yaml.safe_load(Path("deploy/alerts.yaml").read_text()):
        fault(rules[0], "its rules are not those of deploy/alerts.yaml")
    objects = Objects(built, secrets)
    for thing in objects.workloads:
        check_secrets(thing, objects)
        check_settings(thing, objects, (FOLDER / "catalog.yaml").read_text())
        check_hardening(thing)
    for thing in objects.of("Deployment"):
        grace = int(re.search(r"`SHUTDOWN_GRACE_SECONDS` \| (\d+)", Path("docs/settings.md").read_text())[1])
        if thing["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] < grace + MARGIN:
            fault(thing, f"it is killed before {grace} s and {MARGIN} more")
    check_references(objects)
    queries = check_scaling(objects)
    for text in faults:
        print(f"deploy/kubernetes: {text}", file=sys.stderr)
    if faults:
        sys.exit(f"check-kubernetes: {len(faults)} faults")
    write_scaling_test(queries, Path(sys.argv[1]))


main()
