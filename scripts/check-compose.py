#!/usr/bin/env python3
"""Fails if deploy/compose.yaml names a missing file, secret or service, or if Prometheus scrapes the wrong ports.

usage: check-compose.py     by scripts/check-deploy.sh
"""

import json
import sys
from pathlib import Path

import yaml

FOLDER = Path("deploy")
faults: list[str] = []


def check_services(services: dict, secrets: dict) -> None:
    for name, service in services.items():
        if "image" not in service:
            faults.append(f"{name}: no image")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if not (FOLDER / source).exists():
                faults.append(f"{name}: there is no {source}")
        for secret in service.get("secrets", []):
            if secret not in secrets or not (FOLDER / secrets[secret]["file"]).exists():
                faults.append(f"{name}: there is no secret {secret}, or no file of it")
        for other in service.get("depends_on", []):
            if other not in services:
                faults.append(f"{name}: there is no service {other}")
        ports = [port for port in service.get("ports", []) if not port.startswith("127.0.0.1:")]
        if ports:
            faults.append(f"{name}: {ports[0]} is open to other machines")


def check_targets(services: dict) -> None:
    """Checks that Prometheus scrapes every worker and the console, and nothing else."""
    scraped = set()
    for job in yaml.safe_load((FOLDER / "prometheus.yaml").read_text())["scrape_configs"]:
        for group in job["static_configs"]:
            scraped |= set(group["targets"])
    ports = {"run": 8080, "console": 8091}
    there = {
        f"{name}:{ports[service['command'][0]]}" for name, service in services.items()
        if service.get("command", [""])[0] in ports}
    if scraped != there:
        faults.append(f"prometheus.yaml scrapes {sorted(scraped)}, the workers and the console are {sorted(there)}")


def check_grafana(services: dict) -> None:
    source = yaml.safe_load((FOLDER / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"][0]
    if source["url"].split("/")[2].split(":")[0] not in services:
        faults.append(f"Grafana's data source is at {source['url']}: there is no such service")
    path = yaml.safe_load((FOLDER / "grafana/provisioning/dashboards/receiptd.yaml").read_text())
    wanted = path["providers"][0]["options"]["path"]
    if not any(volume.split(":")[1].startswith(wanted + "/") for volume in services["grafana"]["volumes"]):
        faults.append(f"Grafana looks for dashboards in {wanted}, and none is mounted there")
    json.loads((FOLDER / "grafana/receiptd.json").read_text())


whole = yaml.safe_load((FOLDER / "compose.yaml").read_text())
found = whole["services"]
check_services(found, whole["secrets"])
check_targets(found)
check_grafana(found)
for text in faults:
    print(f"deploy/compose.yaml: {text}", file=sys.stderr)
if faults:
    sys.exit(f"check-compose: {len(faults)} faults")
