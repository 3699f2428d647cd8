#!/usr/bin/env bash
# Prints the processor seconds of a cold build of `make demo`, by module. The script builds into the new folder
# .build-costs, with wrappers of swiftc and clang that record the time of each call.
# usage: scripts/build-costs.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/flags.sh
source scripts/flags.sh

scripts/setup.sh
rm -rf .build-costs
mkdir -p .build-costs/notes
notes=$PWD/.build-costs/notes
wrap() {
    cat > ".build-costs/$1" <<WRAPPER
#!/usr/bin/env bash
module=link previous=
for argument in "\$@"; do
    case \$previous in -module-name) module=\$argument ;; -c) [[ \$argument == *.c* || \$argument == *.S ]] && file=\$argument ;; esac
    previous=\$argument
done
[[ -n \${file:-} ]] && module=\${file##*/Sources/} && module=\${module%%/*}
"$(command -v "$1")" "\$@"
code=\$?
{ echo "\$module" && times; } > "$notes/\$\$-\$RANDOM"
exit \$code
WRAPPER
    chmod +x ".build-costs/$1"
}
wrap swiftc
wrap clang
SWIFT_EXEC=$PWD/.build-costs/swiftc CC=$PWD/.build-costs/clang \
    swift build --product receiptd "${build_flags[@]}" --scratch-path .build-costs/build
# Each file in notes has three lines: the module, the wrapper's own user and system time, and the times of the programs
# that the wrapper ran. The times look like this: 1m2.345s 0m1.234s.
awk '
    function seconds(time, parts) { split(time, parts, /[ms]/); return parts[1] * 60 + parts[2] }
    FNR == 1 { module = $1; calls[module]++ }
    FNR == 3 { cost[module] += seconds($1) + seconds($2); all += seconds($1) + seconds($2) }
    END {
        for (module in cost) printf "%7.1f s %5.1f %% %4d calls  %s\n", cost[module], 100 * cost[module] / all, calls[module], module
        printf "%7.1f s 100.0 %% in all\n", all
    }' "$notes"/* | sort -rn
rm -rf .build-costs
