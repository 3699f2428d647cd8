"""Runs the commands that README.md and docs/first-hour.md show, block by block, in one shell a page, on embedded parts.

A comment in front of a fenced block changes its treatment:
  <!-- commands: not run: WHY -->       the script skips the block, and names it at the end
  <!-- commands: until TEXT -->         the block runs until its output has the text, then gets Ctrl-C
The output of a block must have each line of a following block without a language. In such a line … stands for any text.

usage: scripts/check-commands.sh
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import examples

# The time limit for one block, on a machine that other tests keep busy.
LIMIT_SECONDS = 120
SLOW_SECONDS = 5
COMMENT = re.compile(r"^<!-- commands: (not run|until)[: ] *(.*) -->$")


class Block:
    def __init__(self, page, line, language, mark):
        self.name, self.language, self.lines = f"{page}:{line}", language, []
        self.way, self.words = mark or ("run", "")


def blocks(page):
    """Returns the fenced blocks of a page in order: blocks for a shell, and blocks without a language."""
    found, block, mark = [], None, None
    for number, line in enumerate(pathlib.Path(page).read_text().split("\n"), 1):
        if line.strip().startswith("```"):
            if block is None:
                block = Block(page, number, line.strip()[3:], mark)
            else:
                if block.language in ("", "sh"):
                    found.append(block)
                block, mark = None, None
        elif block is not None:
            block.lines.append(line)
        elif comment := COMMENT.match(line.strip()):
            mark = comment.groups()
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


class Shell:
    """One shell of a user who is not root, for PostgreSQL does not run as root."""

    def __init__(self, environment, replaced, folder):
        self.replaced, self.folder = replaced, folder
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        self.output = folder / "output"
        self.process = subprocess.Popen(
            [*user, "bash"], env=environment, stdin=subprocess.PIPE, stdout=open(self.output, "wb"), stderr=subprocess.STDOUT,
            text=True, start_new_session=True)
        # Gives each job a process group of its own, as at a terminal.
        self.tell("set -m\n")

    def text(self):
        return self.output.read_text(errors="replace")

    def run(self, block):
        """Runs the block, and returns its output."""
        before = len(self.text())
        commands = "\n".join(block.lines)
        for shown, real in self.replaced:
            commands = commands.replace(shown, real)
        done = f"--- {block.name} ended"
        if block.way == "until":
            commands = f"(\n{commands}\n) </dev/null & until_job=$!\n"
            self.tell(commands)
            self.wait(block, lambda: block.words in self.text()[before:])
            self.tell(f"kill -INT -- -$until_job; wait $until_job; echo '{done}' $?\n")
        else:
            self.tell(f"set -e\n{commands}\nset +e\necho '{done}' $?\n")
        self.wait(block, lambda: done in self.text()[before:])
        return self.text()[before:]

    def tell(self, commands):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(commands)
            self.process.stdin.flush()

    def wait(self, block, condition):
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                how = "failed" if self.process.poll() is not None else f"took more than {LIMIT_SECONDS} s"
                sys.exit(f"check-commands: {block.name} {how}:\n" + "\n".join(block.lines) + "\n---\n" + self.text()[-3000:])
            time.sleep(0.05)

    def end(self):
        """Ends all processes of the shell's session. Each job is a process group of its own."""
        found = subprocess.run(["ps", "-o", "pid=", "-s", str(self.process.pid)], capture_output=True, text=True).stdout
        for process in found.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        self.process.wait()


def check_output(block, printed):
    for line in block.lines:
        expected = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
        if not re.search(expected, " ".join(printed.split())):
            sys.exit(f"check-commands: {block.name}: nothing printed {line!r}:\n{printed}")


def run_page(page, shell):
    """Runs the page's blocks. Returns the names of the skipped blocks, with the reasons."""
    printed, passed_over = None, []
    for block in blocks(page):
        if block.way == "not run":
            passed_over.append(f"{block.name} ({block.words})")
            printed = None
        elif block.language == "sh":
            began = time.monotonic()
            printed = shell.run(block)
            if (took := time.monotonic() - began) > SLOW_SECONDS:
                print(f"{block.name} took {took:.0f} s")
        elif printed is not None:
            check_output(block, printed)
    return passed_over


def stand_ins(folder):
    """Returns a folder with receiptd, the simulated App Store, and stand-ins for kafka-topics.sh, make and swift. The
    in-process broker creates a topic when a client asks for the topic's metadata."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("receiptd", "AppStoreSimulator"):
        (programs / name).symlink_to((examples.PROGRAMS / name).resolve())
    scripts = {
        "kafka-topics.sh": "#!/usr/bin/python3\nimport sys\nfrom confluent_kafka import Producer\n"
        "options = dict(zip(sys.argv, sys.argv[1:]))\nassert '--create' in options\n"
        "Producer({'bootstrap.servers': options['--bootstrap-server']}).list_topics(options['--topic'], 10)\n",
        # `make test` has built the programs. The real make would build them again.
        "make": "#!/bin/sh\nset -e\ncase $1 in demo) exec receiptd demo ;; demo-live) exec receiptd demo --live ;; esac\nexit 2\n",
        "swift": f"#!/bin/sh\n[ \"$1 $2\" = 'build --product' ] && [ -x '{programs}'/\"$3\" ]\n",
    }
    for name, text in scripts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return programs


def shell_for(stack, folder, programs, replaced, more):
    home = folder / "home"
    home.mkdir()
    if os.geteuid() == 0:
        shutil.chown(home, "postgres", "postgres")
    port = free_port()
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "HTTP_PORT": port,
        "CONSOLE_HTTP_PORT": free_port(), "GOFLAGS": "-buildvcs=false",
        "KAFKA_PROPERTIES": f"session.timeout.ms={examples.SESSION_MILLISECONDS};heartbeat.interval.ms=300",
        "KAFKA_SESSION_TIMEOUT_MS": examples.SESSION_MILLISECONDS, **more,
    }
    shell = Shell(environment, [*replaced, ("$PWD/.build/debug", str(programs)), (".build/debug/receiptd", "receiptd")], folder)
    stack.callback(shell.end)
    return shell


def run_hour(stack, folder, programs):
    broker, _ = examples.start_broker(stack)
    apple, home = free_port(), folder / "home"
    replaced = [
        ("127.0.0.1:9092", broker), ("127.0.0.1:8990", f"127.0.0.1:{apple}"), ("--port 8990", f"--port {apple}"),
        ("5544", free_port()), ("unix_socket_directories=/tmp", f"unix_socket_directories={home}"),
        ("/tmp/receiptd-postgres", f"{home}/postgres"),
    ]
    return run_page("docs/first-hour.md", shell_for(stack, folder, programs, replaced, {}))


def run_readme(stack, folder, programs):
    """Runs the commands of README.md on embedded parts in place of Kafka, PostgreSQL and Apple."""
    broker, _ = examples.start_broker(stack)
    database = examples.start_postgres(stack, folder)
    examples.query(database("postgres"), "CREATE DATABASE receiptd")
    ports = folder / "port"
    examples.start(stack, [programs / "AppStoreSimulator", "--sign-with", "seeds/signing", "--port", "0", "--port-file", ports],
                   stdout=subprocess.DEVNULL)
    examples.wait_until("the simulated App Store listens", lambda: ports.exists() and ports.read_text().strip())
    apple = f"http://127.0.0.1:{ports.read_text().strip()}"
    settings = {f"APPLE_SERVER_API_{place}_URL": f"{apple}/{place.lower()}" for place in ("PRODUCTION", "SANDBOX")}
    settings |= {f"APPLE_VERIFY_RECEIPT_{place}_URL": f"{apple}/{place.lower()}/verifyReceipt" for place in ("PRODUCTION", "SANDBOX")}
    settings["APPLE_ROOT_CERTIFICATES_FILE"] = "seeds/signing/root.pem"
    submission = folder / "submission.json"
    submission.write_text(pathlib.Path("seeds/cases/genuine-consumable/submissions.jsonl").read_text().split("\n")[0])
    replaced = [
        ("kafka:9092", broker), ("postgresql://receiptd@db/receiptd", f"'{database('receiptd')}'"),
        ("catalog import catalog.yaml", "catalog import deploy/kubernetes/catalog.yaml"), ("submission.json", str(submission)),
        ("$(receiptd console password)", "$(echo a long password | receiptd console password)"),
    ]
    return run_page("README.md", shell_for(stack, folder, programs, replaced, settings))


def main():
    began = time.monotonic()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="receiptd-commands-"))
    folder.chmod(0o755)
    passed_over = []
    programs = stand_ins(folder)
    for name, run in (("readme", run_readme), ("hour", run_hour)):
        own = folder / name
        own.mkdir()
        own.chmod(0o755)
        with contextlib.ExitStack() as stack:
            passed_over += run(stack, own, programs)
    shutil.rmtree(folder)
    for name in passed_over:
        print(f"not run: {name}")
    print(f"check-commands: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
