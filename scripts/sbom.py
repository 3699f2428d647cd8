"""Prints the contents of a binary of receiptd as SPDX 2.3: the packages that SwiftPM resolved, their copies of
BoringSSL, Swift's runtime, and the Debian packages of the shared libraries that the binary names.

usage: scripts/sbom.py BINARY VERSION COMMIT SECONDS CHECKOUTS <Package.resolved     SECONDS since 1970, CHECKOUTS of SwiftPM
"""

import datetime
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import sys
import urllib.parse
import uuid

BINARY, VERSION, COMMIT, SECONDS, CHECKOUTS = sys.argv[1:6]
DISTRIBUTION = platform.freedesktop_os_release()["ID"]
BORINGSSL = re.compile(r"cloned from (https://\S+) at revision ([0-9a-f]{40})")
ROOT = "SPDXRef-receiptd"


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def package(name, version, location, purl=None, license="NOASSERTION", **more):
    identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name)
    entry = {
        "name": name, "SPDXID": identifier, "versionInfo": version, "downloadLocation": location, "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION", "licenseDeclared": license, "copyrightText": "NOASSERTION", **more,
    }
    if purl:
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return entry


def declared_license(folder):
    for path in sorted(folder.glob("LICENSE*")):
        text = path.read_text(errors="replace")
        if "Apache License" in text:
            return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
        if "MIT License" in text:
            return "MIT"
    return "NOASSERTION"


def swift_packages(resolved):
    """Yields each package of Package.resolved, with the copies of BoringSSL that the package contains."""
    for pin in resolved["pins"]:
        state = pin["state"]
        location = pin["location"].removesuffix(".git")
        name, version = location.rsplit("/", 1)[1], state.get("version", state["revision"])
        folder = pathlib.Path(CHECKOUTS) / name
        if not folder.is_dir():
            sys.exit(f"sbom: {folder} is not there, though Package.resolved names it")
        entry = package(
            name, version, f"git+{location}.git@{state['revision']}", f"pkg:swift/{location.removeprefix('https://')}@{version}",
            declared_license(folder))
        copies = []
        for path in sorted(folder.glob("Sources/*/hash.txt")):
            if match := BORINGSSL.search(path.read_text()):
                copies.append(package(f"BoringSSL in {name}", match[2], f"git+{match[1]}@{match[2]}"))
        yield entry, copies


def shared_libraries():
    """Returns the Debian packages of the libraries that the binary names. A library without a package has its name."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", BINARY)))
    # dpkg may know a library by its path before the merge of / into /usr, or by its path afterwards.
    paths = {
        library: {path, str(pathlib.Path(path).resolve()), f"/usr{path}"}
        for library, path in re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", BINARY), re.MULTILINE) if library in needed}
    # dpkg-query fails if no package owns one of the paths, but prints the owners of the other paths.
    told = subprocess.run(["dpkg-query", "--search", *sorted(set().union(*paths.values()))], capture_output=True, text=True).stdout
    owners = {path: owner for owner, path in (line.split(": ", 1) for line in told.splitlines())}
    found = {}
    for library, candidates in sorted(paths.items()):
        if owner := next((owners[path] for path in sorted(candidates) if path in owners), None):
            name, version, architecture = output(
                "dpkg-query", "--show", "--showformat=${Package}\t${Version}\t${Architecture}", owner).split("\t")
            found[name] = package(
                name, version, "NOASSERTION",
                f"pkg:deb/{DISTRIBUTION}/{name}@{urllib.parse.quote(version, safe=':~')}?arch={architecture}")
        else:
            found[library] = package(library, "NOASSERTION", "NOASSERTION")
    return found.values()


digest = hashlib.sha256(pathlib.Path(BINARY).read_bytes()).hexdigest()
root = package(
    "receiptd", VERSION + (f"+{COMMIT}" if COMMIT else ""), "NOASSERTION", license="Apache-2.0", primaryPackagePurpose="APPLICATION",
    checksums=[{"algorithm": "SHA256", "checksumValue": digest}], comment="The checksum is that of the binary.")
packages, relationships = [root], [("SPDXRef-DOCUMENT", "DESCRIBES", ROOT)]
for entry, copies in swift_packages(json.load(sys.stdin)):
    packages += [entry, *copies]
    relationships.append((ROOT, "DEPENDS_ON", entry["SPDXID"]))
    relationships += [(entry["SPDXID"], "CONTAINS", copy["SPDXID"]) for copy in copies]
compiler = re.search(r"Swift version (\S+)", output("swift", "--version"))[1]
runtime = package("swift-runtime", compiler, "NOASSERTION", f"pkg:generic/swift@{compiler}", "Apache-2.0 WITH Swift-exception")
libraries = list(shared_libraries())
dynamic = any(library["name"].startswith("libswift") for library in libraries)
packages += [runtime, *libraries]
relationships.append((ROOT, "DYNAMIC_LINK" if dynamic else "STATIC_LINK", runtime["SPDXID"]))
relationships += [(ROOT, "DYNAMIC_LINK", library["SPDXID"]) for library in libraries]

json.dump({
    "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"receiptd-{VERSION}",
    # The same binary always gets the same namespace.
    "documentNamespace": f"https://spdx.org/spdxdocs/receiptd-{VERSION}-{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
    "creationInfo": {
        "created": datetime.datetime.fromtimestamp(int(SECONDS), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "creators": ["Tool: receiptd-scripts-sbom.py"],
    },
    "packages": packages,
    "relationships": [
        {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relationships],
}, sys.stdout, indent=2)
print()
