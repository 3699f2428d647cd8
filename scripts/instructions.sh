#!/usr/bin/env bash
# Counts the instructions that a worker executes for a submission, in this checkout and in another commit, and prints
# the ratio and the functions that differ most. Unlike processor time, instructions hardly depend on other programs, so
# the ratio shows small differences. The worker runs in valgrind, which counts no time in the kernel. Functions
# that poll or wait depend on time: the first ratio leaves them out. Needs valgrind and some ten minutes for the builds.
# usage: scripts/instructions.sh COMMIT [FUNCTIONS]
set -euo pipefail
cd "$(dirname "$0")/.."

commit=$(git rev-parse --verify "${1:?which commit}^{commit}")
readonly commit shown=${2:-20}
# The two backlogs. Their difference leaves out the worker's start.
readonly fewer=400 more=1600

scripts/setup.sh valgrind
scripts/bench.sh compare "$commit" --help >/dev/null
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Counts the worker of the release build $2, into $scratch/$1.fewer and $scratch/$1.more.
count() {
    local folder=$scratch/$1 release=$PWD/$2 submissions profile
    mkdir "$folder"
    cp -L "$release/AppStoreSimulator" "$folder/"
    # Valgrind cannot read all debug information of Swift.
    objcopy --strip-debug "$release/receiptd" "$folder/receiptd.bare"
    cat >"$folder/receiptd" <<END
#!/usr/bin/env bash
[[ \$1 == run ]] || exec "$release/receiptd" "\$@"
exec valgrind --tool=callgrind --callgrind-out-file="$folder/profile.%p" "$folder/receiptd.bare" "\$@"
END
    chmod +x "$folder/receiptd"
    for submissions in "$fewer" "$more"; do
        .build/release/PipelineBenchmark --build "$folder" --throughput-only --latencies 50 --seconds 1000 \
            --concurrency 32 --most "$submissions" >"$folder/said" 2>&1 || { cat "$folder/said" >&2 && return 1; }
        # The worker in valgrind is some fifty times slower. If requests time out, it does other work than usual.
        if grep -qE 'no answer from Apple|Apple is down' "$folder/said"; then
            echo "requests timed out, so the counts cannot be compared: the machine is too busy" >&2
            return 1
        fi
        profile=$(printf '%s\n' "$folder"/profile.*)
        callgrind_annotate --threshold=100 --auto=no "$profile" >"$scratch/$1.$submissions"
        rm "$profile"
    done
}
count ours .build/shipped/release
count theirs ".build/bench-$commit/.build/shipped/release"

# Prints the instructions for one submission, and the name, of each function.
each() {
    awk -v fewer="$scratch/$1.$fewer" -v submissions=$((more - fewer)) '
        match($0, /^ *[0-9,]+ \([ 0-9.]*%\)  [^:]*:/) {
            name = substr($0, RLENGTH + 1)
            sub(/ \[[^]]*\]$/, "", name)
            count = $1
            gsub(/,/, "", count)
            sum[name] += FILENAME == fewer ? -count : count
        }
        END { for (name in sum) printf "%d\t%s\n", sum[name] / submissions, name }' "$scratch/$1.$fewer" "$scratch/$1.$more" |
        LC_ALL=C sort -t $'\t' -k 2
}
each ours >"$scratch/ours.each"
each theirs >"$scratch/theirs.each"
LC_ALL=C join -t $'\t' -j 2 -a 1 -a 2 -e 0 -o 0,1.1,2.1 "$scratch/ours.each" "$scratch/theirs.each" >"$scratch/both"
awk -F '\t' '
    { ours += $2; theirs += $3 }
    # Functions without a name are those of librdkafka.
    $1 !~ /^0x|pthread_|mtx_|cnd_|memset|clock_gettime|epoll/ { working += $2; theirWorking += $3 }
    END {
        if (!theirWorking) { print "no instructions were counted"; exit 1 }
        printf "instructions for a submission without polling: %d, %.3f of the other commit; all: %d, %.3f\n",
            working, working / theirWorking, ours, ours / theirs
    }' "$scratch/both"
printf 'more or fewer than the other commit, and now:\n'
awk -F '\t' '{ difference = $2 - $3; printf "%d\t%d\t%d\t%s\n", (difference < 0 ? -difference : difference), difference, $2, $1 }' \
    "$scratch/both" | sort -rn | head -n "$shown" | cut -f 2- | swift demangle --simplified
