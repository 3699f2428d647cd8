#!/usr/bin/env bash
# Installs the packages of scripts/deploy-tools.txt into .build/deploy-tools. Does nothing if that file has not changed
# since.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly wanted=scripts/deploy-tools.txt tools=.build/deploy-tools
# kubernetes-validate has twenty thousand files. The script unpacks only the schemas of two versions of Kubernetes: the
# oldest that has everything that deploy/kubernetes uses, and the newest.
readonly packed=kubernetes-validate versions=(v1.27.0-local-strict v1.37.0-local-strict)

cmp -s "$wanted" "$tools/installed.txt" && exit
# An interrupted installation starts again from nothing.
rm -rf "$tools"
mkdir -p .build
/usr/bin/python3 -m venv "$tools"
pip() {
    "$tools/bin/pip" "$@" --quiet --disable-pip-version-check --no-deps ||
        { printf 'deploy-tools: pip could not get what %s lists\n' "$wanted" >&2 && exit 1; }
}
grep -v "^$packed==" "$wanted" >"$tools/unpacked.txt"
pip install --no-compile --requirement "$tools/unpacked.txt"
pip download --dest "$tools/packed" "$(grep "^$packed==" "$wanted")"
"$tools/bin/python" - "$tools/packed" "${versions[@]}" <<'EOF'
import pathlib, sys, sysconfig, zipfile
folder, *versions = sys.argv[1:]
for path in pathlib.Path(folder).glob("*.whl"):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(sysconfig.get_path("purelib"), [
            name for name in archive.namelist() if "/v1." not in name or name.split("/")[2] in versions])
EOF
rm -rf "$tools/packed"
cp "$wanted" "$tools/installed.txt"
