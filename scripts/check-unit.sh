#!/usr/bin/env bash
# Checks the systemd units of deploy, each alone and with the drop-in for old versions of systemd. systemd must accept
# both without a message. A comment must mark each directive that old versions do not know.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    printf 'check-unit: %s\n' "$1" >&2
    exit 1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# This check needs systemd and not receiptd: the caller puts /bin/true in place of the program.
verify() {
    local said
    said=$(systemd-analyze verify "$scratch/$1.service" 2>&1) || fail "$2: $said"
    [[ -z $said ]] || fail "$2: $said"
}

# The first version of systemd that knows each directive. The units' other directives are known to systemd 239.
declare -A since=(
    [Type=exec]=240 [ProtectHostname]=242 [RestrictSUIDSGID]=242 [ProtectKernelLogs]=244 [ProtectClock]=245
    [LoadCredential]=247 [ProtectProc]=247 [ProcSubset]=247 [SetCredential]=247 [LoadCredentialEncrypted]=250
    [RestrictFileSystems]=250 [ExitType]=250 [OOMPolicy]=243 [ExecCondition]=243 [PrivateIPC]=248 [NoExecPaths]=248
    [ExecPaths]=248 [SocketBindAllow]=249 [SocketBindDeny]=249 [RestrictNetworkInterfaces]=250 [ImportCredential]=254
    [RestartSteps]=254 [RestartMaxDelaySec]=254 [OpenFile]=253 [TemporaryFileSystem]=238 [ProtectControlGroups]=232
    [PrivateMounts]=239 [RestartMode]=254 [ExtensionImages]=248 [CoredumpReceive]=255 [PrivatePIDs]=257
)
# If a directive is newer than 239, the last comment above it must begin with its version.
check_versions() {
    local unit=$1 line directive version name known
    while read -r line directive version; do
        name=${directive%%=*}
        known=${since[$directive]-${since[$name]-}}
        if [[ -n $known && $known -gt 239 && $known != "$version" ]]; then
            fail "$unit:$line: $name is known since $known, and the comment above it says ${version:-nothing}"
        fi
    done < <(awk '
        /^#/ { version = match($0, /^# [0-9]+/) ? substr($0, 3, RLENGTH - 2) : version; next }
        /^$|^\[/ { version = ""; next }
        { print NR, $1, version }' "$unit")
}

settings() { sed -nE 's/^Environment=([A-Z_]+)=.*/\1/p' "$1" | sort; }

check_unit() {
    local unit=deploy/$1.service old=deploy/$1-old-systemd.conf name
    sed 's#^ExecStart=/usr/local/bin/receiptd .*#ExecStart=/bin/true#' "$unit" >"$scratch/$1.service"
    verify "$1" "$unit"
    mkdir "$scratch/$1.service.d"
    cp "$old" "$scratch/$1.service.d/old-systemd.conf"
    verify "$1" "$old"
    check_versions "$unit"
    # The drop-in must take back every line that needs systemd 250.
    for name in LoadCredential Environment; do
        grep -q "^$name=$" "$old" || fail "$old does not take $name= back"
    done
    ! grep -q '^[^#]*%d' "$old" || fail "$old names the folder of credentials"
    # The unit and the drop-in must set the same variables.
    [[ $(settings "$unit") == "$(settings "$old")" ]] || fail "$unit and $old set different variables"
}

check_unit receiptd
check_unit receiptd-console
