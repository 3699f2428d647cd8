#!/usr/bin/env bash
# Fails if a file, a function or a type is too large, if a protocol with several implementations has no suite that runs
# on all of them, or if code starts a program by Foundation's Process. scripts/style-allowed.txt lists the exceptions,
# and an exception that is not needed is a fault too. --all ignores the list.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly longest_median=80 longest_file=300 longest_function=70 most_variables=12 longest_executable=2500
allowed=scripts/style-allowed.txt
[[ ${1-} != --all ]] || allowed=/dev/null

swift_files() { find Sources Tests Plugins Benchmarks Fuzzing -name '*.swift' -not -path '*/.build*/*' | sort; }

# For each fault a check prints CHECK, PATH, LINE and a description, separated by tabs.
check_files() {
    swift_files | xargs wc -l | awk -v longest="$longest_file" '
        $2 != "total" && $1 > longest { printf "file\t%s\t1\t%d lines, at most %d\n", $2, $1, longest }'
    swift_files | grep '^Sources/' | xargs wc -l | awk '$2 != "total" { print $1 }' | sort -n |
        awk -v longest="$longest_median" '
            { lines[NR] = $1 }
            END {
                median = lines[int((NR + 1) / 2)]
                if (median > longest) printf "median\tSources\t0\tmedian of files: %d lines, at most %d\n", median, longest
            }'
}

# Limits the executable's code, which no other program and only a few tests can use.
check_executable() {
    find Sources/receiptd -name '*.swift' -print0 | xargs -0 cat | wc -l | awk -v longest="$longest_executable" '
        $1 > longest { printf "executable\tSources/receiptd\t0\t%d lines, at most %d\n", $1, longest }'
}

# Relies on the layout that scripts/check-format.sh enforces: a closing brace stands in the column where its declaration
# begins.
check_functions() {
    swift_files | xargs awk -v longest="$longest_function" '
        function indentation(line) { match(line, /^ */); return RLENGTH }
        FNR == 1 { depth = 0 }
        /^ *([a-z@]+(\([a-z]+\))? )*(func |init[?(<]|deinit)/ {
            # A protocol requirement has no braces, so the next declaration ends it.
            while (depth > 0 && !is_open[depth] && column[depth] >= indentation($0)) depth--
            depth++
            start[depth] = FNR
            column[depth] = indentation($0)
            is_open[depth] = 0
        }
        depth > 0 && !is_open[depth] && /\{$/ { is_open[depth] = 1; next }
        # Drops a function without a block of its own: a requirement of a protocol, or a body on one line.
        depth > 0 && !is_open[depth] && (indentation($0) < column[depth] || $0 == "" || /\}$/) { depth--; next }
        depth > 0 && is_open[depth] && /^ *\}$/ && indentation($0) == column[depth] {
            size = FNR - start[depth] + 1
            if (size > longest)
                printf "function\t%s\t%d\ta function of %d lines, at most %d\n", FILENAME, start[depth], size, longest
            depth--
        }'
}

# Counts the stored `var`s of each type. Extensions cannot have any.
check_variables() {
    swift_files | xargs awk -v most="$most_variables" '
        function indentation(line) { match(line, /^ */); return RLENGTH }
        FNR == 1 { depth = 0 }
        /^ *([a-z@]+(\([a-z]+\))? )*(struct|class|actor|enum) [A-Z]/ && /\{$/ {
            depth++
            column[depth] = indentation($0)
            variables[depth] = 0
            start[depth] = FNR
            name[depth] = $0
        }
        depth > 0 && indentation($0) == column[depth] + 4 && /^ *([a-z@]+(\([a-zA-Z]+\))? )*var / {
            declared = $0
            sub(/^.*var /, "", declared)
            is_computed = declared ~ /\{/ && declared !~ / = /
            if (!is_computed) variables[depth]++
        }
        depth > 0 && /^ *\}$/ && indentation($0) == column[depth] {
            if (variables[depth] > most) {
                sub(/^ */, "", name[depth])
                printf "properties\t%s\t%d\t%d stored variables, at most %d: %s\n", \
                    FILENAME, start[depth], variables[depth], most, name[depth]
            }
            depth--
        }'
}

# In Swift 6.3 Foundation's Process may crash a program that has more than a thousand open files: see ChildProcess. The
# benchmarks have few.
check_process() {
    swift_files | grep -E '^(Sources|Tests)/' | xargs awk '
        /[^A-Za-z]Process\(\)/ {
            printf "process\t%s\t%d\tstart programs by ChildProcess, because Process may crash\n", FILENAME, FNR
        }'
}

# If several types conform to a protocol, test doubles included, a suite must test the protocol's promises on all of
# them. scripts/no-conformance.txt lists the protocols that promise nothing.
check_conformance() {
    local exempt=scripts/no-conformance.txt protocols suites
    protocols=$(swift_files | grep '^Sources/' | xargs grep -nE '^ *((public|package|private|fileprivate) )?protocol [A-Z]')
    suites=$(swift_files | grep '^Tests/' | xargs grep -hoE '^struct [A-Z][A-Za-z]*Conformance' | sed 's/^struct //')
    swift_files | grep -E '^(Sources|Tests)/' | xargs awk \
        -v protocols="$protocols" -v suites="$suites" -v exempt="$exempt" '
        BEGIN {
            count = split(protocols, line, "\n")
            for (i = 1; i <= count; i++) {
                split(line[i], part, ":")
                name = line[i]
                sub(/^.*protocol /, "", name)
                sub(/[^A-Za-z].*$/, "", name)
                file[name] = part[1]
                at[name] = part[2]
            }
            count = split(suites, line, "\n")
            for (i = 1; i <= count; i++) hasSuite[line[i]] = 1
            while ((getline one < exempt) > 0) {
                if (one ~ /^(#|$)/) continue
                sub(/:.*$/, "", one)
                isExempt[one] = 1
            }
        }
        FNR == 1 { head = "" }
        head == "" && /^ *([a-z@]+(\([a-z]+\))? )*(struct|class|actor|enum|extension) [A-Z]/ { head = " " }
        # The head of a declaration may have several lines.
        head != "" {
            head = head " " $0
            if ($0 !~ /\{/) next
            sub(/\{.*$/, "", head)
            gsub(/<[^>]*>/, "", head)
            sub(/ where .*$/, "", head)
            if (sub(/^[^:]*:/, "", head)) {
                conformances = split(head, conformed, /[,&]/)
                for (i = 1; i <= conformances; i++) {
                    gsub(/[^A-Za-z.]/, "", conformed[i])
                    sub(/^.*\./, "", conformed[i])
                    if (conformed[i] in file) types[conformed[i]]++
                }
            }
            head = ""
        }
        END {
            for (name in file) {
                isMissing = types[name] > 1 && !((name "Conformance") in hasSuite)
                if (isMissing && !(name in isExempt))
                    printf "conformance\t%s\t%d\t%d types conform to %s, and no suite %sConformance runs on all of them\n", \
                        file[name], at[name], types[name], name, name
            }
            for (name in isExempt)
                if (!(name in file) || types[name] < 2 || ((name "Conformance") in hasSuite))
                    printf "conformance\t%s\t0\t\"%s\" is no longer needed\n", exempt, name
        }' | sort
}

# Leaves out the faults that the list allows. A line of the list is CHECK and a path. A path that ends in a slash stands
# for all files below it.
faults() {
    awk -F '\t' -v allowed="$allowed" '
        BEGIN {
            while ((getline line < allowed) > 0) {
                if (line ~ /^(#|$)/) continue
                split(line, entry, " ")
                count++
                check[count] = entry[1]
                path[count] = entry[2]
            }
        }
        {
            for (i = 1; i <= count; i++)
                if (check[i] == $1 && (path[i] == $2 || (path[i] ~ /\/$/ && index($2, path[i]) == 1))) {
                    is_needed[i] = 1
                    next
                }
            printf "%s:%d: %s\n", $2, $3, $4
        }
        END {
            for (i = 1; i <= count; i++)
                if (!is_needed[i]) printf "%s: \"%s %s\" is no longer needed\n", allowed, check[i], path[i]
        }'
}

found=$({ check_files; check_executable; check_functions; check_variables; check_process; check_conformance; } | faults)
if [[ -n $found ]]; then
    printf '%s\n' "$found" >&2
    printf 'check-style: %d faults\n' "$(wc -l <<<"$found")" >&2
    exit 1
fi
