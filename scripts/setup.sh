#!/usr/bin/env bash
# Installs the Debian packages that the build and the demo need and this machine lacks. Fails if Swift is missing or too
# old.
# usage: scripts/setup.sh [PACKAGE...]     PACKAGE is a further Debian package: a library, a package with the name
#                                          of its command, or COMMAND=PACKAGE (promtool=prometheus)
set -euo pipefail

readonly minimum_swift=6.2

fail() {
    printf 'setup: %s\n' "$1" >&2
    exit 1
}

check_swift() {
    command -v swift >/dev/null ||
        fail "swift is not installed: version $minimum_swift or later is needed, see https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [[ -n $version ]] || fail "cannot tell the version of swift from 'swift --version'"
    local oldest
    oldest=$(printf '%s\n%s\n' "$minimum_swift" "$version" | sort -V | head -n 1)
    [[ $oldest == "$minimum_swift" ]] ||
        fail "swift $version is too old: $minimum_swift or later is needed, see https://www.swift.org/install/linux/"
}

has_library() { command -v pkg-config >/dev/null && pkg-config --exists "$1"; }

has_postgres() {
    command -v initdb >/dev/null && command -v postgres >/dev/null && return
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

# A library has no command to look for, so dpkg must say whether the library is installed.
is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

missing=()
find_missing() {
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    has_library rdkafka || missing+=(librdkafka-dev)
    has_library libpq || missing+=(libpq-dev)
    has_library zlib || missing+=(zlib1g-dev)
    has_postgres || missing+=(postgresql)
    local wanted
    for wanted in "$@"; do
        command -v "${wanted%%=*}" >/dev/null || is_installed "$wanted" || missing+=("${wanted#*=}")
    done
}

as_root() {
    if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo -n "$@"; fi
}

apt_install() {
    local log
    log=$(mktemp)
    if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get could not install: $*"
    fi
    rm -f "$log"
}

# While apt-get installs packages, it must start no service and create no PostgreSQL cluster, because tests and the demo
# start their own. put_back undoes these changes of the machine at the end.
readonly policy=/usr/sbin/policy-rc.d
readonly clusters=/etc/postgresql-common/createcluster.conf
policy_is_ours=
clusters_before=
quiet_services() {
    if [[ ! -e $policy ]]; then
        policy_is_ours=yes
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
    fi
}
forbid_clusters() {
    clusters_before=$(mktemp)
    cp "$clusters" "$clusters_before" 2>/dev/null || : >"$clusters_before"
    printf '\ncreate_main_cluster = false\n' | as_root tee -a "$clusters" >/dev/null
}
put_back() {
    [[ -z $policy_is_ours ]] || as_root rm -f "$policy"
    [[ -z $clusters_before ]] || { as_root cp "$clusters_before" "$clusters" && rm -f "$clusters_before"; }
}

install_missing() {
    command -v apt-get >/dev/null ||
        fail "these Debian packages are missing, and there is no apt-get to install them: ${missing[*]}"
    if [[ $(id -u) -ne 0 ]] && ! sudo -n true 2>/dev/null; then
        fail "needs root: run 'sudo apt-get install ${missing[*]}', then try again"
    fi
    printf 'setup: installing %s\n' "${missing[*]}"
    trap put_back EXIT
    quiet_services
    as_root apt-get update -qq >/dev/null || fail "apt-get update failed"
    if [[ " ${missing[*]} " == *" postgresql "* ]]; then
        apt_install postgresql-common
        forbid_clusters
    fi
    apt_install "${missing[@]}"
    # Only promtool is needed. Otherwise the package would start Prometheus at the next boot.
    if [[ " ${missing[*]} " == *" prometheus "* ]] && command -v systemctl >/dev/null; then
        as_root systemctl disable --quiet prometheus 2>/dev/null || true
    fi
}

check_swift
find_missing "$@"
[[ ${#missing[@]} -gt 0 ]] || exit 0
# Only one setup may use apt-get at a time, because apt-get does not wait for another apt-get. While this setup waits
# for the lock, another setup may install the same packages.
exec {lock}<"${BASH_SOURCE[0]}"
flock "$lock"
missing=()
find_missing "$@"
[[ ${#missing[@]} -eq 0 ]] || install_missing
