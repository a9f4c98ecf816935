#!/usr/bin/env python3
"""Many subscribers of one topic: the delay of the delivery, lost messages, cursors, memory per subscriber, and who used the
processors.

Build the gateway as it is shipped, and the subscribers, which need nothing of it:

    cargo build --profile dist --locked
    CARGO_TARGET_DIR=target cargo build --profile dist --locked --manifest-path bench/rust/Cargo.toml \\
        --no-default-features --bin subscribers

Start a replica set of one, and run, with each transport:

    mongod --replSet bench --dbpath /tmp/bench-topics --port 27117
    mongosh --port 27117 --eval 'rs.initiate()'
    bench/topics.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true" --subscribers 5000 --seconds 30
    bench/topics.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true" --subscribers 5000 --seconds 30 --transport ws

The limit of open files has to be more than the subscribers for each process (`ulimit -n`). It starts a gateway with a
database of its own, which it leaves there. Publisher and subscribers are one process on the same machine, whose share of
the processors is in the result, as are those of the gateway and of MongoDB. The target is: none lost, one cursor, and
less than 64 KiB per subscriber, with 5,000 subscribers at 100 messages per second on two processors."""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any, Dict

import servers
from client import ask
from processes import (
    MostResident,
    Process,
    Processes,
    Trouble,
    allow_many_files,
    arguments,
    cpu_seconds,
    free_port,
    print_results,
    resident_bytes,
)
from servers import Database

CREATE = """mutation($input: CreateTopicInput!) { createTopic(input: $input) {
  __typename ... on UserError { message } } }"""
TOPIC_BYTES = 64 << 20
ROOT = Path(__file__).resolve().parent.parent


class Status:
    """What the server says of itself: `serverStatus` in MongoDB's wire protocol."""

    def __init__(self, uri: str):
        host = urllib.parse.urlsplit(uri)
        body = b"\x10serverStatus\0" + struct.pack("<i", 1) + b"\x02$db\0" + struct.pack("<i", 6) + b"admin\0\0"
        message = struct.pack("<i", 0) + b"\0" + struct.pack("<i", len(body) + 4) + body
        with socket.create_connection((host.hostname or "127.0.0.1", host.port or 27017), 5) as connection:
            connection.sendall(struct.pack("<iiii", len(message) + 16, 1, 0, 2013) + message)
            received = b""
            while len(received) < 4 or len(received) < struct.unpack("<i", received[:4])[0]:
                received += connection.recv(1 << 20)
        open_cursors = received.index(b"\x03open\0", received.index(b"\x03cursor\0"))
        #: Number of open cursors.
        self.cursors = self._number(received, b"total", open_cursors)
        #: CPU time so far.
        self.cpu_seconds = sum(self._number(received, name, 0) for name in (b"user_time_us", b"system_time_us")) / 1e6

    @staticmethod
    def _number(reply: bytes, name: bytes, begin: int) -> int:
        place = reply.index(b"\x12" + name + b"\0", begin) + len(name) + 2
        return struct.unpack("<q", reply[place : place + 8])[0]


class Subscribers:
    """The process of the publisher and the subscribers."""

    def __init__(self, options: argparse.Namespace, port: int, token: str):
        told = {
            "ADDRESS": f"127.0.0.1:{port}",
            "TOKEN": token,
            "SUBSCRIBERS": str(options.subscribers),
            "RATE": str(options.rate),
            "SECONDS": str(options.seconds),
            "TRANSPORT": options.transport,
        }
        self._process = subprocess.Popen(
            [options.client], env=told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def __enter__(self) -> "Subscribers":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def go(self) -> None:
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def line(self) -> str:
        line = self._process.stdout.readline().strip()
        if not line:
            raise Trouble("the subscribers ended")
        return line


def start(options: argparse.Namespace, processes: Processes, port: int) -> "tuple[Process, str]":
    """The gateway, and a token of its topic's publisher."""
    secret = "a secret of the bench, of 32 bytes at least"
    database = Database(options.mongodb, f"bench_topics_{os.getpid()}", secret, secret, 0)
    most = str(options.subscribers + 1_000)
    environment = database.environment(
        DOCGATE_LISTEN=f"127.0.0.1:{port}",
        DOCGATE_MAX_CONNECTIONS=most,
        DOCGATE_LIVE_CONNECTIONS=most,
        # The subscribers answer no pings.
        DOCGATE_LIVE_PING_MILLIS="600000",
    )
    command = [str(options.docgate)]
    subprocess.run([*command, "indexes", "apply"], env=environment, check=True, capture_output=True)
    gateway = processes.start("docgate", [*command, "serve"], environment)
    servers.wait_until_healthy(gateway, ("127.0.0.1", port))
    token = subprocess.run(
        [*command, "token", "--sub", "bench", "--ttl", "1d", "--roles", "service"],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()
    return gateway, token


def run(options: argparse.Namespace, processes: Processes) -> Dict[str, Any]:
    port = free_port()
    gateway, token = start(options, processes, port)
    answer = ask(("127.0.0.1", port), CREATE, {"input": {"name": "bench", "bytes": TOPIC_BYTES}}, token)
    if answer["createTopic"]["__typename"] != "Topic":
        raise Trouble(f"no topic: {answer}")
    before, closed = resident_bytes(gateway.pid), Status(options.mongodb)
    with Subscribers(options, port, token) as subscribers:
        subscribers.line()
        idle, opened = resident_bytes(gateway.pid), Status(options.mongodb)
        used = lambda: {
            "gateway": cpu_seconds(gateway.pid),
            "publisher and subscribers": cpu_seconds(subscribers.pid),
            "MongoDB": Status(options.mongodb).cpu_seconds,
        }
        with MostResident(gateway.pid) as most_resident:
            begin, so_far = time.monotonic(), used()
            subscribers.go()
            found = json.loads(subscribers.line())
            passed, then = time.monotonic() - begin, used()
    per = lambda resident: round((resident - before) / options.subscribers / 1024, 1)
    return {
        "transport": options.transport,
        "subscribers": options.subscribers,
        "published": found["published"],
        "published per second": round(found["published"] / options.seconds, 1),
        "slowest publish, ms": found["slowest_publish"],
        "delivered": found["delivered"],
        "lost": found["lost"],
        "out of order": found["out_of_order"],
        "closed connections": found["closed"],
        "messages per read": round(found["delivered"] / max(1, found["reads"]), 1),
        "delay ms": {part: found[part] for part in ("p50", "p99", "max")},
        "cursors": opened.cursors - closed.cursors,
        "KiB per subscriber, idle": per(idle),
        "KiB per subscriber, at most": per(most_resident.bytes),
        "processors used": {of: round((then[of] - so_far[of]) / passed, 2) for of in then},
        "seconds": round(passed, 1),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--client", type=Path, default=ROOT / "target/dist/subscribers", help="binary of the subscribers")
    parser.add_argument("--subscribers", type=int, default=5_000)
    parser.add_argument("--rate", type=int, default=100, help="messages per second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--transport", choices=["sse", "ws"], default="sse", help="server-sent events or WebSockets")
    options = parser.parse_args()
    allow_many_files()
    return print_results(lambda processes, _folder: run(options, processes))


if __name__ == "__main__":
    sys.exit(main())
