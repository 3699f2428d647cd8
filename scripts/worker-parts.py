#!/usr/bin/env python3
"""Prints the parts of a worker's processor time, in microseconds for one submission, from samples of a whole benchmark:

    perf record -e cpu-clock -F 1500 -g -a -o samples -- .build/release/PipelineBenchmark --throughput-only --latencies 50 --most 30000 …
    scripts/worker-parts.py samples receiptd 30000        # or, with --worker .build/yardstick: samples yardstick 30000

A sample counts for the first part whose pattern fits its thread's name or a function on its stack. Needs perf
(linux-perf).
usage: scripts/worker-parts.py FILE receiptd|yardstick SUBMISSIONS
"""

import collections
import re
import subprocess
import sys

FREQUENCY = 1500
KAFKA = ("librdkafka's threads", None, r"^rdk:")
# Each part has a name, a pattern for its functions, and a pattern for its threads.
PARTS = {
    "receiptd": [
        KAFKA,
        ("proving the receipt", r"11AppleProofs|CCryptoBoringSSL_(?!.*(?i:sha256))", None),
        ("asking Apple, and its answers", r"10PooledHTTP|NIOCore|NIOPosix|8AppStore|c_nio", r"^NIO"),
        ("batches, and what is known", r"6Ledger|8Postgres|^PQ|^pq", None),
        ("publishing", r"OutcomePublisher|A8ProducerC|DeliveryLoop|ProducerRecord", None),
        ("reading the submission", r"ConsumerLoop|RecordIntake|9Screening|SubmissionDecoder|DecodedProof|A8ConsumerC|Digest256|9Encodings", None),
        ("deciding", r"11Fulfillment|8Pipeline", None),
        ("hashes without a stack", r"CCryptoBoringSSL", None),
        ("memory without a stack", r"malloc|_int_free|cfree|unlink_chunk|calloc|lll_lock", None),
        ("references without a stack", r"swift_retain|swift_release|RefCount", None),
        ("waking and switching tasks", r"dispatch|AsyncTask|futex|swift::|swift_task|start_thread|entry_SYSCALL|schedule", None),
    ],
    "yardstick": [
        KAFKA,
        ("collecting garbage", r"runtime\.(gc|bgsweep|markroot|scan|grey)", None),
        ("JSON, base64 and hashes", r"encoding/json|base64|crypto/sha256", None),
        ("asking Apple, and its answers", r"net/http|bufio\.|net\.\(|internal/poll|net/textproto|main\.verify", None),
        ("batches", r"pgx|pgconn|pgproto3|pgtype|main\.write", None),
        ("calling librdkafka", r"confluent|cgo|rd_kafka", None),
        ("scheduling", r"runtime\.(schedule|mcall|park_m|findRunnable|mstart|futex|systemstack|mPark|newproc|usleep|netpoll)", None),
        ("deciding", r"main\.", None),
    ],
}


def samples(path):
    """Yields each sample's process, thread and functions, the innermost function first."""
    text = subprocess.run(
        ["perf", "script", "-i", path, "-F", "comm,pid,ip,sym"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout
    for block in text.split("\n\n"):
        head, *stack = [line.strip() for line in block.split("\n") if line.strip()] or [""]
        thread, _, process = head.rpartition(" ")
        if process:
            yield process, thread.strip(), [line.partition(" ")[2] for line in stack]


def main(path, program, submissions):
    rules = [(name, re.compile(functions or "$^"), re.compile(threads or "$^")) for name, functions, threads in PARTS[program]]
    by_process = collections.defaultdict(list)
    for process, thread, stack in samples(path):
        by_process[process].append((thread, stack))
    # Other commands of the program, such as `receiptd migrate`, run only for a moment. So the worker has the most
    # samples.
    workers = [found for found in by_process.values() if any(thread == program for thread, _ in found)]
    if not workers:
        sys.exit(f"{path} has no samples of {program}")
    worker = max(workers, key=len)
    counts = collections.Counter()
    for thread, stack in worker:
        fits = (name for name, functions, threads in rules if threads.search(thread) or any(map(functions.search, stack)))
        counts[next(fits, "the rest")] += 1
    for name, count in counts.most_common():
        print(f"{count / FREQUENCY / submissions * 1e6:6.1f}  {name}")
    print(f"{len(worker) / FREQUENCY / submissions * 1e6:6.1f}  all")


if len(sys.argv) != 4 or sys.argv[2] not in PARTS:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
