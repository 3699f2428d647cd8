#!/usr/bin/env bash
# Checks the packages that scripts/package.sh makes.
# usage: scripts/check-package.sh [BINARY]             packs BINARY (.build/debug/receiptd) and checks the contents
#        scripts/check-package.sh --installed FOLDER   checks the packages in FOLDER; installs, runs and removes them
#                                                      in a new Debian without Swift. Needs mmdebstrap and a mirror
set -euo pipefail

installs=
if [[ ${1-} == --installed ]]; then
    installs=yes
    given=$(realpath "$2")
else
    given=$(realpath "${1:-$(dirname "$0")/../.build/debug/receiptd}")
fi
cd "$(dirname "$0")/.."

fail() {
    printf 'check-package: %s\n' "$1" >&2
    exit 1
}

# Runs a command, and prints the command's output only if the command fails.
quietly() { "$@" >"$scratch/said" 2>&1 || { head -n 50 "$scratch/said" >&2 && fail "$*"; }; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C.UTF-8
version=$(scripts/version.sh)
readonly version

if [[ -n $installs ]]; then
    dist=$given
else
    dist=$scratch/dist
    RECEIPTD_BINARY=$given quietly scripts/package.sh --fast "$dist"
fi
one() {
    local found
    mapfile -t found < <(find "$dist" -name "$1")
    [[ ${#found[@]} -eq 1 && -s ${found[0]} ]] || fail "$dist: ${#found[@]} files $1"
    printf '%s\n' "${found[0]}"
}
deb=$(one "receiptd_${version}_*.deb")
tarball=$(one "receiptd-$version-linux-*.tar.gz")
sbom=$(one "receiptd-$version-linux-*.spdx.json")

quietly dpkg-deb --info "$deb"
[[ $(dpkg-deb --field "$deb" Version) == "$version" ]] || fail "$deb has another version than the sources"
for needed in librdkafka1 libpq5 libc6 adduser ca-certificates; do
    [[ " $(dpkg-deb --field "$deb" Depends)," == *" $needed"[\ ,]* ]] || fail "$deb does not depend on $needed"
done
dpkg-deb --extract "$deb" "$scratch/deb"
dpkg-deb --control "$deb" "$scratch/control"
mkdir "$scratch/tar"
tar --extract --strip-components 1 --directory "$scratch/tar" --file "$tarball"
for script in postinst prerm postrm; do quietly sh -n "$scratch/control/$script"; done
[[ $(stat --format %a "$scratch/deb/etc/receiptd/credentials") == 700 ]] || fail "anybody may read /etc/receiptd/credentials"

# Checks the files that the .deb and the tarball both have below their prefix.
check_contents() {
    local root=$1 prefix=$2 zsh=$3 path unit command
    for path in bin/receiptd lib/systemd/system/{receiptd,receiptd-console}.service share/man/man1/receiptd.1.gz \
        share/bash-completion/completions/receiptd "share/zsh/$zsh/_receiptd" share/fish/vendor_completions.d/receiptd.fish \
        share/receiptd/{schema.sql,migrations/011-columns-of-earlier-versions.sql,alerts.yaml,grafana/receiptd.json,postgres/roles.sql,kafka/acls.sh} \
        share/doc/receiptd/{README.md,CHANGELOG.md,receiptd.spdx.json,licenses-of-packages.txt} \
        share/doc/receiptd/docs/{operations,runbooks,settings,console,contract/submissions}.md \
        share/doc/receiptd/examples/{receiptd.env.example,catalog.yaml,console-users.example} \
        share/doc/receiptd/examples/{README.md,inventory.sql,python/consumer.py,go/consumer/main.go} \
        share/doc/receiptd/examples/{receiptd,receiptd-console}-old-systemd.conf; do
        [[ -s $root/$path ]] || fail "$prefix/$path is missing"
    done
    quietly cmp "$root/share/doc/receiptd/receiptd.spdx.json" "$sbom"
    grep -q '^==== swift-nio/NOTICE' "$root/share/doc/receiptd/licenses-of-packages.txt" || fail "notices of what is linked in are missing"
    while read -r unit command; do
        path=$root/lib/systemd/system/$unit.service
        grep -qx "ExecStart=$prefix/bin/receiptd $command" "$path" || fail "$unit.service starts something else"
        ! grep -E '(^|[ (])(deploy|docs)/' "$path" || fail "$unit.service names a file that is not installed there"
        sed "s#^ExecStart=$prefix/bin/receiptd .*#ExecStart=/bin/true#" "$path" >"$scratch/$unit.service"
        if command -v systemd-analyze >/dev/null; then quietly systemd-analyze --man=no verify "$scratch/$unit.service"; fi
    done <<<$'receiptd run\nreceiptd-console console'
}
check_contents "$scratch/deb/usr" /usr vendor-completions
check_contents "$scratch/tar" /usr/local site-functions

readonly root=$scratch/deb/usr
quietly "$root/bin/receiptd" catalog check "$root/share/doc/receiptd/examples/catalog.yaml"
bash -n "$root/share/bash-completion/completions/receiptd"
# Not every machine has zsh, fish and mandoc.
if command -v zsh >/dev/null; then quietly zsh -n "$root/share/zsh/vendor-completions/_receiptd"; fi
if command -v fish >/dev/null; then quietly fish --no-execute "$root/share/fish/vendor_completions.d/receiptd.fish"; fi
mkdir "$scratch/man"
for page in "$root"/share/man/man1/*.gz; do gzip -dc "$page" >"$scratch/man/$(basename "$page" .gz)"; done
if command -v mandoc >/dev/null; then (cd "$scratch/man" && quietly mandoc -T lint -W warning ./*.1); fi

# Each command must have a manual page, and the completions must know each command's name.
"$root/bin/receiptd" --experimental-dump-help >"$scratch/help.json"
/usr/bin/python3 -B - "$scratch/help.json" >"$scratch/commands" <<'EOF'
import json, sys
def walk(command, above):
    name = [*above, command["commandName"]]
    print("-".join(name))
    for below in command.get("subcommands", []):
        if below["commandName"] != "help" and below["shouldDisplay"]:
            walk(below, name)
walk(json.load(open(sys.argv[1]))["command"], [])
EOF
while read -r command; do
    grep -q '^\.SH DESCRIPTION' "$scratch/man/$command.1" || fail "no manual page $command, or an empty one"
    for shell in bash-completion/completions/receiptd zsh/vendor-completions/_receiptd fish/vendor_completions.d/receiptd.fish; do
        grep -qw -e "${command##*-}" "$root/share/$shell" || fail "share/$shell does not know $command"
    done
done <"$scratch/commands"

scripts/setup.sh python3-venv
# SPDX's own validator must accept the SBOM, and the SBOM must list every package that SwiftPM resolved.
scripts/deploy-tools.sh
quietly .build/deploy-tools/bin/pyspdxtools --infile "$sbom"
quietly /usr/bin/python3 -B - "$sbom" Package.resolved "$root/bin/receiptd" <<'EOF'
import hashlib, json, sys
sbom, resolved = (json.load(open(path)) for path in sys.argv[1:3])
told = {package["downloadLocation"]: package for package in sbom["packages"]}
for pin in resolved["pins"]:
    location = pin["location"].removesuffix(".git")
    package = told[f"git+{location}.git@{pin['state']['revision']}"]
    assert package["versionInfo"] == pin["state"]["version"] and package["licenseDeclared"] != "NOASSERTION", package
names = {package["name"] for package in sbom["packages"]}
assert {"receiptd", "swift-runtime", "BoringSSL in swift-crypto", "librdkafka1", "libpq5"} <= names, names
digest = hashlib.sha256(open(sys.argv[3], "rb").read()).hexdigest()
assert sbom["packages"][0]["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}], digest
EOF

if [[ -z $installs ]]; then
    # Packing the same binary with the same timestamp must make the same bytes.
    RECEIPTD_BINARY=$root/bin/receiptd quietly scripts/package.sh --fast "$scratch/again"
    quietly diff --recursive --brief "$dist" "$scratch/again"
    exit
fi

# The remaining checks run in a new Debian, which gets only the packages from this machine.
scripts/setup.sh mmdebstrap
mkdir "$scratch/in"
cp "$deb" "$scratch/in/receiptd.deb"
cp "$tarball" "$scratch/in/receiptd.tar.gz"
cat >"$scratch/in/try.sh" <<'EOF'
#!/bin/sh
set -eu
fail() { echo "check-package: $*" >&2; exit 1; }

# Runs a command, which must end with the given exit code and print the given text.
expect() {
    code=$1 text=$2
    shift 2
    got=0
    said=$("$@" 2>&1) || got=$?
    [ "$got" = "$code" ] || fail "$* exits $got, not $code: $said"
    case $said in *"$text"*) ;; *) fail "$* does not say '$text': $said" ;; esac
}

! command -v swift || fail "there is a Swift"
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -qq --no-install-recommends /try/receiptd.deb systemd >/try/said 2>&1 || { cat /try/said; fail "apt-get install"; }
[ "$(command -v receiptd)" = /usr/bin/receiptd ] || fail "receiptd is not installed"
! ldd /usr/bin/receiptd | grep -E 'not found|[sS]wift|/opt/' || fail "libraries are missing"
[ -z "$(dpkg --verify receiptd)" ] || fail "dpkg --verify: $(dpkg --verify receiptd)"

expect 0 "$VERSION" receiptd --version
receiptd --version
expect 78 "KAFKA_BOOTSTRAP_SERVERS: is required" receiptd check
nowhere=http://127.0.0.1:9
expect 69 "FAILED  postgresql" env KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:9 DATABASE_URL=postgresql://127.0.0.1:9/receiptd \
    APPLE_VERIFY_RECEIPT_PRODUCTION_URL=$nowhere APPLE_VERIFY_RECEIPT_SANDBOX_URL=$nowhere \
    APPLE_SERVER_API_PRODUCTION_URL=$nowhere APPLE_SERVER_API_SANDBOX_URL=$nowhere receiptd check
expect 0 "" receiptd catalog check /usr/share/doc/receiptd/examples/catalog.yaml

# receiptd runs as the service's user, with the settings of the example, which lack DATABASE_URL.
getent passwd receiptd >/dev/null || fail "there is no user receiptd"
cp /usr/share/doc/receiptd/examples/receiptd.env.example /etc/receiptd/receiptd.env
expect 78 "DATABASE_URL: is required" setpriv --reuid receiptd --regid receiptd --clear-groups \
    sh -c 'set -a; . /etc/receiptd/receiptd.env; exec receiptd run'
systemd-analyze --man=no verify receiptd.service receiptd-console.service >/try/said 2>&1 || { cat /try/said; fail "systemd-analyze verify"; }
! grep receiptd /try/said || fail "systemd has something to say of the unit"
systemctl enable --quiet receiptd receiptd-console

# The tarball's receiptd must run beside the package, on the same libraries.
tar -xzf /try/receiptd.tar.gz --strip-components 1 -C /usr/local
expect 0 "$VERSION" /usr/local/bin/receiptd --version
rm /usr/local/bin/receiptd

apt-get install -y -qq --reinstall /try/receiptd.deb >/try/said 2>&1 || { cat /try/said; fail "apt-get install --reinstall"; }
[ -e /etc/systemd/system/multi-user.target.wants/receiptd.service ] || fail "an upgrade has disabled the service"
apt-get purge -y -qq receiptd >/try/said 2>&1 || { cat /try/said; fail "apt-get purge"; }
hash -r
! command -v receiptd || fail "receiptd is left"
[ ! -e /usr/share/doc/receiptd ] || fail "/usr/share/doc/receiptd is left"
for unit in receiptd receiptd-console; do
    [ ! -L /etc/systemd/system/multi-user.target.wants/$unit.service ] || fail "$unit is still enabled"
done
[ -e /etc/receiptd/receiptd.env ] || fail "a purge has removed what an operator wrote"
EOF
# The new Debian has the release of this machine, because the binary is linked to that release's libraries.
suite=$(sed -nE 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016  # mmdebstrap gives its hooks the new root as $1
VERSION=$version IN=$scratch/in timeout --kill-after=10s 15m mmdebstrap --quiet --variant=apt --format=null \
    --customize-hook='cp -R "$IN" "$1/try" && chroot "$1" env VERSION="$VERSION" sh /try/try.sh' "$suite" /dev/null ||
    fail "what is installed does not do as it should"
