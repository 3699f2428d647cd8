#!/usr/bin/env bash
# Makes the packages: receiptd-VERSION-linux-ARCH.tar.gz for /usr/local, receiptd_VERSION_ARCH.deb, and an SPDX file
# that lists the contents of the binary. The script first builds the binary with scripts/release.sh. On one machine, the
# same commit always gives the same bytes.
# usage: scripts/package.sh [--fast] [FOLDER]     writes to FOLDER, by default dist; --fast hardly compresses
#   RECEIPTD_BINARY=FILE       packs FILE and builds nothing, for tests; FILE may need Swift's runtime
#   DEBFULLNAME, DEBEMAIL      the maintainer of the .deb
set -euo pipefail
cd "$(dirname "$0")/.."

compression=(-Zxz) gzip=-9
if [[ ${1-} == --fast ]]; then
    compression=(-Znone) gzip=-1
    shift
fi
readonly dist=${1:-dist}

fail() {
    printf 'package: %s\n' "$1" >&2
    exit 1
}

scripts/setup.sh dpkg-shlibdeps=dpkg-dev python3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C.UTF-8
umask 022

if [[ -n ${RECEIPTD_BINARY-} ]]; then
    built=$RECEIPTD_BINARY checkouts=.build/checkouts
else
    scripts/release.sh
    built=.build/shipped/release/receiptd checkouts=.build/shipped/checkouts
fi
readonly binary=$scratch/receiptd
install -s -m 755 "$built" "$binary"

version=$(scripts/version.sh)
readonly version
told=$("$binary" --version)
[[ $told == "$version" || $told == "$version ("*")" ]] || fail "$built says that it is $told, and the sources are $version"
commit=$(sed -nE 's/.*\((.*)\)$/\1/p' <<<"$told")
[[ -n ${RECEIPTD_BINARY-} || -n $commit || ! -e .git ]] || fail "$built does not name its commit"
readonly maintainer="${DEBFULLNAME:-Whoever built it} <${DEBEMAIL:-root@localhost}>"
architecture=$(dpkg --print-architecture)
readonly name=receiptd-$version-linux-$architecture
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

# The Debian packages that the binary needs. Debian has no package of Swift's runtime, so the binary must contain the
# runtime.
if [[ -z ${RECEIPTD_BINARY-} ]] && readelf --dynamic "$binary" | grep -qE 'NEEDED.*lib(swift|Foundation|dispatch)'; then
    fail "$built needs Swift's runtime"
fi
mkdir -p "$scratch/needs/debian"
printf 'Source: receiptd\n\nPackage: receiptd\nArchitecture: any\n' >"$scratch/needs/debian/control"
needs=$(cd "$scratch/needs" && dpkg-shlibdeps --ignore-missing-info -O -e"$binary" 2>warnings) ||
    fail "$(cat "$scratch/needs/warnings")"

[[ -e Package.resolved ]] || fail "there is no Package.resolved: nothing was built here"
/usr/bin/python3 -B scripts/sbom.py "$binary" "$version" "$commit" "$SOURCE_DATE_EPOCH" "$checkouts" \
    <Package.resolved >"$scratch/receiptd.spdx.json"
"$binary" --experimental-dump-help >"$scratch/help.json"

# Prints the licences and notices of the packages that are linked in.
licenses() {
    local file
    printf 'Of the packages that are linked into receiptd.\n'
    find "$checkouts/" -mindepth 2 -maxdepth 2 -type f \( -name 'LICENSE*' -o -name 'NOTICE*' \) | sort | while read -r file; do
        printf '\n==== %s\n\n' "${file#"$checkouts/"}"
        cat "$file"
    done
}
licenses >"$scratch/licenses"

# stage ROOT PREFIX ZSH copies into ROOT the files that are in both packages. The installed files will be below PREFIX,
# which is /usr or /usr/local. ZSH is the folder of completions for zsh.
stage() {
    local root=$1 prefix=$2 zsh=$3 file unit
    local share=$root/share
    local doc=$share/doc/receiptd
    put() { install -D -m "${3:-644}" "$1" "$2"; }
    put "$binary" "$root/bin/receiptd" 755
    for unit in receiptd receiptd-console; do
        sed -E "s#/usr/local/bin/#$prefix/bin/#; s#/etc/systemd/system/($unit.service)(:|\$)#$prefix/lib/systemd/system/\1\2#
            s#deploy/receiptd(.env.example|-old|-console-old)#$prefix/share/doc/receiptd/examples/receiptd\1#
            s#deploy/receiptd.service#$prefix/lib/systemd/system/receiptd.service#
            s#deploy/(postgres/roles.sql)#$prefix/share/receiptd/\1#; s#docs/(console.md)#$prefix/share/doc/receiptd/docs/\1#
            s#^(After=.*)#\1\nDocumentation=man:$unit(1)#" "deploy/$unit.service" >"$scratch/unit"
        put "$scratch/unit" "$root/lib/systemd/system/$unit.service"
    done

    /usr/bin/python3 -B scripts/manual.py "$version" "$(date --utc --date="@$SOURCE_DATE_EPOCH" +%F)" "$prefix" "$share/man/man1" \
        <"$scratch/help.json"
    gzip -9n "$share"/man/man1/*.1
    "$binary" --generate-completion-script bash >"$scratch/bash"
    "$binary" --generate-completion-script zsh >"$scratch/zsh"
    "$binary" --generate-completion-script fish >"$scratch/fish"
    put "$scratch/bash" "$share/bash-completion/completions/receiptd"
    put "$scratch/zsh" "$share/zsh/$zsh/_receiptd"
    put "$scratch/fish" "$share/fish/vendor_completions.d/receiptd.fish"

    for file in schema.sql migrations/*.sql; do put "$file" "$share/receiptd/$file"; done
    for file in alerts.yaml grafana/receiptd.json postgres/roles.sql; do put "deploy/$file" "$share/receiptd/$file"; done
    put deploy/kafka/acls.sh "$share/receiptd/kafka/acls.sh" 755

    put deploy/receiptd.env.example "$doc/examples/receiptd.env.example"
    for file in receiptd-old-systemd.conf receiptd-console-old-systemd.conf console-users.example; do
        put "deploy/$file" "$doc/examples/$file"
    done
    put deploy/kubernetes/catalog.yaml "$doc/examples/catalog.yaml"
    find examples -type f | while read -r file; do put "$file" "$doc/$file"; done
    put README.md "$doc/README.md"
    put "$scratch/licenses" "$doc/licenses-of-packages.txt"
    put "$scratch/receiptd.spdx.json" "$doc/receiptd.spdx.json"
    find docs -type f | while read -r file; do put "$file" "$doc/$file"; done
}

# Gives all files the same time, so that the same files make the same bytes.
settle() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

mkdir -p "$dist"
rm -f "$dist"/receiptd-*-linux-*.tar.gz "$dist"/receiptd-*-linux-*.spdx.json "$dist"/receiptd_*_*.deb
cp "$scratch/receiptd.spdx.json" "$dist/$name.spdx.json"

stage "$scratch/$name" /usr/local site-functions
install -m 644 CHANGELOG.md LICENSE "$scratch/$name/share/doc/receiptd/"
settle "$scratch/$name"
tar --create --directory "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --format=gnu "$name" |
    gzip -n "$gzip" >"$dist/$name.tar.gz"

readonly deb=$scratch/deb
stage "$deb/usr" /usr vendor-completions
install -m 644 deploy/debian/copyright "$deb/usr/share/doc/receiptd/copyright"
install -m 644 CHANGELOG.md "$deb/usr/share/doc/receiptd/CHANGELOG.md"
gzip -9n >"$deb/usr/share/doc/receiptd/changelog.gz" <<EOF
receiptd ($version) unstable; urgency=medium

  * See CHANGELOG.md.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
EOF
install -d -m 755 "$deb/etc/receiptd"
install -d -m 700 "$deb/etc/receiptd/credentials"
install -d "$deb/DEBIAN"
install -m 755 deploy/debian/{postinst,prerm,postrm} "$deb/DEBIAN"
(cd "$deb" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
cat >"$deb/DEBIAN/control" <<EOF
Package: receiptd
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du --summarize --apparent-size --block-size=1K "$deb/usr" | cut -f 1)
Depends: ${needs#shlibs:Depends=}, adduser, ca-certificates
Suggests: postgresql
Section: net
Priority: optional
Description: verifies App Store purchases and grants them once
 receiptd takes receipts from Kafka, refuses forged and foreign ones by itself,
 asks Apple about the rest, writes the grant to PostgreSQL, and publishes a
 granted or rejected event.
EOF
settle "$deb"
dpkg-deb --root-owner-group "${compression[@]}" --build "$deb" "$scratch/receiptd.deb" >/dev/null
cp "$scratch/receiptd.deb" "$dist/receiptd_${version}_$architecture.deb"
printf '%s\n' "$dist/$name.spdx.json" "$dist/$name.tar.gz" "$dist/receiptd_${version}_$architecture.deb"
