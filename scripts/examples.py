"""Players buy, producers submit, receiptd grants, inventories hand out; consumers and the worker are killed on the way.

usage: scripts/check-examples.sh
"""

import collections
import contextlib
import glob
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psycopg2
from confluent_kafka import Consumer, Producer, TopicPartition

PROGRAMS, CLIENTS = (pathlib.Path(argument) for argument in sys.argv[1:3])
TOPICS = ["receipt-submissions", "receipt-outcomes", "receipt-dead-letters"]
PARTITIONS = 4
PLAYERS, RECEIPTS, PURCHASES = 12, 24, 10
KILLS = 3
# The number of events that a consumer handles before the test kills it. The numbers are small, so all kills come while
# events are left.
LIFE = range(5, 40)
LIMIT_SECONDS = 120
KEY = "the key of the examples"
# Records that are no events. Anybody with the right to write to the topic can publish such records.
NO_EVENTS = [
    None, b"", b"no JSON", b"[]", b"[" * 100_000, b'{"type":"receipt.granted"}', b'{"event_id":"1","type":"receipt.granted"}',
    b'{"event_id":"0b6d1a3c-59d3-5e2f-8f0b-6f1f0c0f7a11","type":"receipt.granted","transaction_id":"1","player_id":"p"}',
    b'{"event_id":"0b6d1a3c-59d3-5e2f-8f0b-6f1f0c0f7a12","type":"receipt.granted","transaction_id":"1","player_id":"a\\u0000b",'
    b'"product_id":"x","revision":1,"quantity":1}',
    b'{"event_id":"0b6d1a3c-59d3-5e2f-8f0b-6f1f0c0f7a13","type":"receipt.granted","transaction_id":"1","player_id":"p",'
    b'"product_id":"x","revision":1,"quantity":99999999999}',
]
# The in-process broker takes a killed member back only after the member's session has ended. It accepts no session
# below 3 s.
SESSION_MILLISECONDS = "3200"


def wait_until(what, condition):
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"check-examples: it never came true that {what}")
        time.sleep(0.05)


# Ends the started program even if something kills this process.
WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]


def start(stack, arguments, **more):
    """Starts a process that ends with this process."""
    process = subprocess.Popen([*WITH_US, *arguments], **more)

    def end():
        process.kill()
        process.wait()

    stack.callback(end)
    return process


def start_broker(stack):
    """Starts librdkafka's in-process broker. The broker lives as long as the returned producer."""
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 3})
    for topic in TOPICS:
        wait_until(f"there is {topic}", lambda: len(producer.list_topics(topic, 10).topics[topic].partitions) == PARTITIONS)
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    stack.callback(lambda: producer)
    return f"{broker.host}:{broker.port}", producer


def start_postgres(stack, folder):
    """Starts PostgreSQL with a socket in the folder, and not as root. Returns a function for URIs."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *WITH_US[1:]] if os.geteuid() == 0 else []
    home = folder / "postgres"
    home.mkdir()
    if as_user:
        shutil.chown(home, "postgres", "postgres")
    data = home / "data"
    run = {"cwd": home, "stdout": subprocess.DEVNULL, "check": True}
    subprocess.run([*as_user, f"{programs}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"], **run)
    with open(folder / "postgres.log", "wb") as log:
        server = start(
            stack, [*as_user, f"{programs}/postgres", "-D", data, "-k", home, "-c", "listen_addresses=", "-c", "fsync=off"],
            cwd=home, stdout=log, stderr=log)
    # SIGQUIT stops the server at once, because the test keeps none of its data.
    stack.callback(lambda: (server.send_signal(signal.SIGQUIT), server.wait()))

    def address(database):
        return f"postgresql://postgres@/{database}?host={home}"

    def is_up():
        with contextlib.suppress(psycopg2.OperationalError):
            psycopg2.connect(address("postgres")).close()
            return True

    wait_until("PostgreSQL answers", is_up)
    return address


def query(address, sql):
    connection = psycopg2.connect(address)
    connection.autocommit = True
    with contextlib.closing(connection), connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def submissions():
    """Returns the submissions as lines, and the player and quantity of each transaction id."""
    lines, bought = [], {}
    for number in range(RECEIPTS):
        player = f"player-{number % PLAYERS}"
        ids = [str(10_000_000 + number * PURCHASES + index) for index in range(PURCHASES)]
        quantity = number % 3 + 1
        receipt = subprocess.run(
            [PROGRAMS / "AppStoreSimulator", "receipt", "--sign-with", "seeds/signing", "--quantity", str(quantity),
             "--bundle-id", "com.example.castle", "--app-apple-id", "1450000001", "--product", "com.example.castle.gems.100",
             *(word for transaction in ids for word in ("--transaction", transaction))],
            check=True, capture_output=True, text=True).stdout.strip()
        lines.append(json.dumps({
            "submission_id": f"s-{number}", "player_id": player, "bundle_id": "com.example.castle", "receipt_data": receipt}))
        bought.update({transaction: (player, quantity) for transaction in ids})
    return lines, bought


class Worker:
    """The worker, which the test kills once and starts again."""

    def __init__(self, stack, environment, folder):
        self.stack, self.environment = stack, environment
        self.log = open(folder / "receiptd.log", "wb")
        self.start()

    def start(self):
        self.process = start(self.stack, [PROGRAMS / "receiptd", "run"], env=self.environment, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()


class Inventory:
    """A consumer. The test kills it several times, and starts it again each time."""

    def __init__(self, name, arguments, environment, address, folder):
        self.name, self.arguments, self.address = name, arguments, address
        self.environment = {**environment, "INVENTORY_DATABASE": address}
        self.lines = collections.Counter()
        self.kills = self.deaths = 0
        self.stopping = False
        self.log = open(folder / f"{name}.log", "wb")
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    def live(self):
        while not self.stopping:
            self.process = subprocess.Popen([*WITH_US, *self.arguments], env=self.environment, stdout=subprocess.PIPE, stderr=self.log)
            left = random.choice(LIFE) if self.kills < KILLS else None
            for line in self.process.stdout:
                word = line.split(b" ")[0].decode()
                self.lines[word] += 1
                if word == "handled" and left is not None:
                    left -= 1
                    if left == 0:
                        self.process.kill()
                        self.kills += 1
            if self.process.wait() not in (-signal.SIGKILL, 0):
                self.deaths += 1
                self.stopping = True

    def stop(self):
        self.stopping = True
        self.process.terminate()
        self.thread.join(20)

    def rows(self):
        return dict(((player, product), units) for player, product, units in query(
            self.address, "SELECT player_id, product_id, units FROM inventory WHERE units <> 0"))


def all_records(broker, topic):
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    records, ended = [], 0
    while ended < PARTITIONS:
        record = consumer.poll(10)
        if record is None or record.error():
            ended += 1
        else:
            records.append(record)
    consumer.close()
    return records


def all_events(broker):
    """Returns receiptd's events, without the records that this test wrote to the same topic."""
    return [record for record in all_records(broker, "receipt-outcomes") if record.headers()]


def produce(client, lines, environment):
    subprocess.run(client, input="\n".join(lines) + "\n", text=True, env=environment, check=True, timeout=60)


def check_what_producers_say(clients, environment):
    """Checks that a producer names a faulty line and its missing fields, and exits with 1."""
    for client in clients:
        faulty = subprocess.run(client, input='{"submission_id":"s"}\n', text=True, env=environment, capture_output=True, timeout=60)
        check(f"{client[-1]} names what is missing", faulty.returncode == 1 and "line 1 is not sent: missing: " in faulty.stderr
              and "Traceback" not in faulty.stderr, faulty.stderr)
        without = {name: value for name, value in environment.items() if name != "KAFKA_BOOTSTRAP_SERVERS"}
        unset = subprocess.run(client, input="", text=True, env=without, capture_output=True, timeout=60)
        check(f"{client[-1]} names the setting", unset.returncode == 1 and "set KAFKA_BOOTSTRAP_SERVERS" in unset.stderr, unset.stderr)


def check(what, is_so, *told):
    if not is_so:
        sys.exit(f"check-examples: it is not so that {what} {' '.join(map(str, told))}")


def run(stack, folder):
    broker, writer = start_broker(stack)
    address = start_postgres(stack, folder)
    ports = folder / "port"
    start(stack, [PROGRAMS / "AppStoreSimulator", "--sign-with", "seeds/signing", "--port", "0", "--port-file", ports],
          stdout=subprocess.DEVNULL)
    wait_until("the simulated App Store listens", lambda: ports.exists() and ports.read_text().strip())
    apple = f"http://127.0.0.1:{ports.read_text().strip()}"
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    receiptd = {
        **inherited,
        "KAFKA_BOOTSTRAP_SERVERS": broker,
        "KAFKA_PROPERTIES": f"session.timeout.ms={SESSION_MILLISECONDS};heartbeat.interval.ms=300",
        "DATABASE_URL": address("receiptd"),
        "APPLE_VERIFY_RECEIPT_PRODUCTION_URL": f"{apple}/production/verifyReceipt",
        "APPLE_VERIFY_RECEIPT_SANDBOX_URL": f"{apple}/sandbox/verifyReceipt",
        "APPLE_SERVER_API_PRODUCTION_URL": f"{apple}/production",
        "APPLE_SERVER_API_SANDBOX_URL": f"{apple}/sandbox",
        "APPLE_ROOT_CERTIFICATES_FILE": "seeds/signing/root.pem",
        "SEEDS_SERVER_API_KEY_FILE": "seeds/signing/server-api-key.pem",
        "SEEDS_SHARED_SECRET": "any text",
        "SUBMISSION_SIGNING_KEYS": f"an older key,{KEY}",
        "HTTP_PORT": "0",
    }

    def command(*arguments):
        subprocess.run([PROGRAMS / "receiptd", *arguments], env=receiptd, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)

    for database in ("receiptd", "inventory_python", "inventory_go"):
        query(address("postgres"), f"CREATE DATABASE {database}")
    tables = pathlib.Path("examples/inventory.sql").read_text()
    command("migrate")
    command("catalog", "import", "seeds/catalog.yaml")
    worker = Worker(stack, receiptd, folder)
    client = {**inherited, "KAFKA_BOOTSTRAP_SERVERS": broker, "SUBMISSION_SIGNING_KEY": KEY,
              "KAFKA_SESSION_TIMEOUT_MS": SESSION_MILLISECONDS}
    python_producer = ["/usr/bin/python3", "examples/python/producer.py"]
    inventories = []
    for name, arguments in [("python", ["/usr/bin/python3", "examples/python/consumer.py"]), ("go", [CLIENTS / "consumer"])]:
        query(address(f"inventory_{name}"), tables)
        # Each consumer has its own inventory and consumer group, so both consumers get every event.
        own = {**client, "KAFKA_GROUP_ID": f"inventory-{name}"}
        inventory = Inventory(name, arguments, own, address(f"inventory_{name}"), folder)
        inventories.append(inventory)
        stack.callback(inventory.stop)

    def granted():
        return query(address("receiptd"), "SELECT count(*) FROM grants")[0][0]

    check_what_producers_say([python_producer, [CLIENTS / "producer"]], client)
    # These records come before the events in each partition. If one of them ends a consumer, its inventory stays empty.
    for partition in range(PARTITIONS):
        for value in NO_EVENTS:
            writer.produce("receipt-outcomes", value, partition=partition)
    writer.flush(10)
    lines, bought = submissions()
    half = len(lines) // 2
    produce(python_producer, lines[:half], client)
    wait_until("something is granted", lambda: granted() > 0)
    worker.kill()
    produce([CLIENTS / "producer"], lines[half:], client)
    # A game server that got no acknowledgement sends its submissions again.
    produce(python_producer, lines[half - 4 : half + 4], client)
    wait_until(f"all {len(bought)} purchases are granted", lambda: granted() == len(bought))
    # Ends the consumers' sessions, as a restart of PostgreSQL does.
    query(address("postgres"), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'inventory%'")
    taken_back = random.sample(sorted(bought), 4)
    for transaction in taken_back:
        command("grants", "revoke", transaction, "--yes", "--operator", "check-examples")
    command("grants", "reinstate", taken_back[0], "--operator", "check-examples")

    expected = collections.Counter()
    for transaction, (player, quantity) in bought.items():
        if transaction not in taken_back[1:]:
            expected[player, "com.example.castle.gems.100"] += quantity
    events = set()

    def is_published():
        events.clear()
        events.update(json.loads(record.value())["event_id"] for record in all_events(broker))
        # The events are grants, revocations and one reinstatement. receiptd may also have rejected repeated
        # submissions.
        return len(events) >= len(bought) + len(taken_back) + 1

    wait_until("every event is published", is_published)
    for inventory in inventories:
        count = "SELECT count(*) FROM handled_events"
        wait_until(
            f"{inventory.name} has handled every event and was killed {KILLS} times",
            lambda: inventory.deaths or inventory.kills == KILLS and query(inventory.address, count)[0][0] >= len(events))
        inventory.stop()
        check(f"the consumer in {inventory.name} ends only when it is killed", inventory.deaths == 0)
        check(f"the inventory in {inventory.name} has each grant once", inventory.rows() == dict(expected),
              inventory.rows(), dict(expected))
        aside = query(inventory.address, "SELECT count(*), count(value) FROM set_aside")[0]
        expected_aside = (len(NO_EVENTS) * PARTITIONS, (len(NO_EVENTS) - 1) * PARTITIONS)
        check(f"the one in {inventory.name} set aside what is no event", aside == expected_aside, aside, expected_aside)
        check(f"events came again to the one in {inventory.name}", inventory.lines["repeated"] > 0)
    check_records(broker, folder)
    print(f"{len(bought)} purchases in {len(lines)} submissions, {len(events)} events; " + "; ".join(
        f"{inventory.name}: killed {inventory.kills} times, {inventory.lines['repeated']} events came again, each grant is there "
        "once"
        for inventory in inventories))


def check_records(broker, folder):
    """Checks that all use one partition for a player, that signatures are valid, and that grants have traces."""
    places = collections.defaultdict(set)
    for record in all_records(broker, "receipt-submissions") + all_events(broker):
        places[record.key()].add(record.partition())
    check("each player has one partition", all(len(partitions) == 1 for partitions in places.values()), dict(places))
    check("no submission is a dead letter", not all_records(broker, "receipt-dead-letters"))
    seen = folder / "events.jsonl"
    with open(seen, "wb") as file:
        for record in all_events(broker):
            file.write(record.value() + b"\n")
            headers = {name: value.decode() for name, value in record.headers()}
            file.write(json.dumps(headers).encode() + b"\n")
            if headers["ce_type"] == "receipt.granted":
                check("a grant has the trace of its submission", "traceparent" in headers, headers)
    subprocess.run(["scripts/check-schemas.sh", seen], check=True, stdout=subprocess.DEVNULL)


def main():
    began = time.monotonic()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="receiptd-examples-"))
    folder.chmod(0o755)
    with contextlib.ExitStack() as stack:
        try:
            run(stack, folder)
        except BaseException:
            print(f"check-examples: logs are in {folder}", file=sys.stderr)
            raise
    shutil.rmtree(folder)
    print(f"check-examples: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
