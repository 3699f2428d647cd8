#!/usr/bin/env bash
# Fuzzes the parsers that read bytes from outside (docs/decisions/0020-fuzzing.md).
#   scripts/fuzz.sh [PARSER...] [--seconds N]   fuzzes each PARSER for N seconds; by default all parsers, 60 seconds
#   scripts/fuzz.sh --growth [PARSER]           checks that twice the input costs about twice the work
#   scripts/fuzz.sh --reproduce PARSER FILE     runs PARSER on FILE, which the message of a finding names
set -euo pipefail
cd "$(dirname "$0")/.."

# The most seconds and megabytes for one input, and the most bytes of an input.
readonly longest_input_seconds=10 memory_megabytes=2048 longest_input=65536
readonly folder=.build/fuzz

seconds=60
mode=fuzz
words=()
while [[ $# -gt 0 ]]; do
    case $1 in
    --seconds)
        seconds=${2:?--seconds needs a number}
        shift
        ;;
    --growth | --reproduce) mode=${1#--} ;;
    -*)
        printf 'fuzz.sh: no option %s\n' "$1" >&2
        exit 64
        ;;
    *) words+=("$1") ;;
    esac
    shift
done

# A crash prints its message and no backtrace.
export SWIFT_BACKTRACE=enable=no
# The leak check would report memory that Swift's runtime keeps as long as the process lives.
export ASAN_OPTIONS=detect_leaks=0
# The clang of the Swift toolchain has libFuzzer as a library.
compiler=$(readlink -f "$(command -v swiftc)")
library=$(find "$(dirname "$compiler")/../lib/clang" -name 'libclang_rt.fuzzer_no_main-x86_64.a' -o \
    -name 'libclang_rt.fuzzer_no_main-aarch64.a' | head -n 1)
[[ -n $library ]] || {
    echo "fuzz.sh: this toolchain has no libFuzzer" >&2
    exit 69
}
# The parsers are instrumented, so this build has a folder of its own.
swift build --configuration release --scratch-path "$folder/build" --disable-default-traits --traits Fuzzing \
    --product Fuzz -Xlinker "$library"
program=$folder/build/release/Fuzz
mkdir -p "$folder/findings"

fuzz() {
    local parser=$1
    printf '== %s\n' "$parser"
    mkdir -p "$folder/corpus/$parser" # Later runs start from the inputs that earlier runs kept here.
    FUZZ_PARSER=$parser "$program" "$folder/corpus/$parser" "$folder/seeds/$parser" \
        "-dict=$folder/seeds/$parser.dict" "-max_total_time=$seconds" "-timeout=$longest_input_seconds" \
        "-rss_limit_mb=$memory_megabytes" "-max_len=$longest_input" "-artifact_prefix=$folder/findings/$parser-" \
        -print_final_stats=1 -use_value_profile=1 -verbosity=0
}

case $mode in
growth) exec "$program" growth "${words[@]}" ;;
reproduce) FUZZ_PARSER=${words[0]:?which parser?} exec "$program" "${words[1]:?which file?}" ;;
esac
"$program" seeds "$folder/seeds"
if [[ ${#words[@]} -eq 0 ]]; then mapfile -t words < <("$program" list); fi
for parser in "${words[@]}"; do fuzz "$parser"; done
