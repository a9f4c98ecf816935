#!/usr/bin/env python3
"""Many subscribers of one topic: the delay of the delivery, lost messages, cursors, and memory per subscriber.

    bench/topics.py --docgate target/dist/docgate --mongodb mongodb://127.0.0.1:27017/ --subscribers 5000 --seconds 30

It starts a gateway on the replica set of one at that address, in a database of its own, which it leaves there. The
publisher and the subscribers, which use server-sent events, are two processes of their own on the same machine: their
share of the processors is a part of every figure."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import resource
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import Any, Dict, List

import servers
from client import Address, ask, encoded
from processes import MostResident, Processes, Trouble, free_port, resident_bytes
from servers import Database

CREATE = """mutation($input: CreateTopicInput!) { createTopic(input: $input) {
  __typename ... on UserError { message } } }"""
PUBLISH = """mutation($input: PublishInput!) { publish(input: $input) {
  __typename ... on UserError { message } } }"""
FOLLOW = """subscription { topic(name: "bench") { messages { payload } missed } }"""
TOPIC_BYTES = 64 << 20
#: A message: its number, and the time at which it was sent in microseconds. Then as much as makes 100 bytes.
MESSAGE = re.compile(rb"n=(\d{9}) t=(\d{16});")
LONGEST = 28
MISSED = re.compile(rb'"missed":(null|[1-9]\d*)')
#: Time for the last messages to arrive, in seconds.
PATIENCE = 60


def now() -> int:
    return time.time_ns() // 1000


def cursors(uri: str) -> int:
    """Number of open cursors of the server: `serverStatus` in MongoDB's wire protocol."""
    host = urllib.parse.urlsplit(uri)
    body = b"\x10serverStatus\0" + struct.pack("<i", 1) + b"\x02$db\0" + struct.pack("<i", 6) + b"admin\0\0"
    message = struct.pack("<i", 0) + b"\0" + struct.pack("<i", len(body) + 4) + body
    with socket.create_connection((host.hostname or "127.0.0.1", host.port or 27017), 5) as connection:
        connection.sendall(struct.pack("<iiii", len(message) + 16, 1, 0, 2013) + message)
        received = b""
        while len(received) < 4 or len(received) < struct.unpack("<i", received[:4])[0]:
            received += connection.recv(1 << 20)
    place = received.index(b"\x03open\0", received.index(b"\x03cursor\0"))
    place = received.index(b"\x12total\0", place) + len(b"\x12total\0")
    return struct.unpack("<q", received[place : place + 8])[0]


class Subscriber:
    """One connection."""

    def __init__(self, address: Address, token: str):
        self.rest = b""
        self.numbers = 0
        self.next = 0
        self.out_of_order = 0
        self.missed = 0
        self.socket = socket.create_connection(address)
        headers = {"accept": "text/event-stream", "authorization": f"Bearer {token}"}
        self.socket.sendall(encoded("POST", "/graphql", json.dumps({"query": FOLLOW}), headers))
        while b'"messages":[]' not in self.rest:
            received = self.socket.recv(1 << 16)
            if not received:
                raise Trouble(f"a subscriber was refused: {self.rest[:500]!r}")
            self.rest += received
        self.rest = b""
        self.socket.setblocking(False)

    def take(self, received: bytes, at: int, delays: List[int]) -> None:
        text = self.rest + received
        end = 0
        for found in MESSAGE.finditer(text):
            number, end = int(found[1]), found.end()
            self.out_of_order += number < self.next
            self.next = number + 1
            self.numbers += 1
            delays.append(at - int(found[2]))
        self.missed += len(MISSED.findall(text, max(0, len(self.rest) - 16)))
        self.rest = text[max(end, len(text) - LONGEST) :]


def subscribe(address: Address, token: str, count: int, results: Any, sent: Any) -> None:
    """Reads until all messages have come, or no more do."""
    subscribers = [Subscriber(address, token) for _ in range(count)]
    selector = selectors.DefaultSelector()
    for subscriber in subscribers:
        selector.register(subscriber.socket, selectors.EVENT_READ, subscriber)
    results.put("ready")
    delays: List[int] = []
    wanted, end = -1, float("inf")
    while wanted < 0 or sum(one.numbers for one in subscribers) < wanted * count:
        if wanted < 0 and sent.value >= 0:
            wanted, end = sent.value, time.monotonic() + PATIENCE
        if time.monotonic() > end:
            break
        for _ in range(100):
            for key, _ in selector.select(0.05):
                received = key.fileobj.recv(1 << 17)
                if not received:
                    raise Trouble("the gateway closed a connection")
                key.data.take(received, now(), delays)
    delays.sort()
    at = lambda part: delays[min(len(delays) - 1, int(len(delays) * part))] / 1000 if delays else 0.0
    results.put(
        {
            "delivered": len(delays),
            "lost": wanted * count - len(delays),
            "out of order": sum(one.out_of_order for one in subscribers),
            "told as missed": sum(one.missed for one in subscribers),
            "p50 ms": round(at(0.5), 1),
            "p99 ms": round(at(0.99), 1),
        }
    )


def publish(address: Address, token: str, rate: int, seconds: float, sent: Any) -> int:
    """Publishes at this rate. If the gateway is too slow, some are published together."""
    begin, number = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds:
        due = min(100, int(passed * rate) - number)
        if due <= 0:
            time.sleep(0.002)
            continue
        messages = [f"n={number + at:09} t={now():016};".ljust(100, ".") for at in range(due)]
        ask(address, PUBLISH, {"input": {"topic": "bench", "messages": messages}}, token)
        number += due
    sent.value = number
    return number


def run(options: argparse.Namespace, processes: Processes) -> Dict[str, Any]:
    secret = "a secret of the bench, of 32 bytes at least"
    database = Database(options.mongodb, f"bench_topics_{os.getpid()}", secret, secret, 0)
    port = free_port()
    most = str(options.subscribers + 1_000)
    environment = database.environment(
        DOCGATE_LISTEN=f"127.0.0.1:{port}", DOCGATE_MAX_CONNECTIONS=most, DOCGATE_LIVE_CONNECTIONS=most
    )
    command = [str(options.docgate)]
    subprocess.run([*command, "indexes", "apply"], env=environment, check=True, capture_output=True)
    gateway = processes.start("docgate", [*command, "serve"], environment)
    address = ("127.0.0.1", port)
    servers.wait_until_healthy(gateway, address)
    token = subprocess.run(
        [*command, "token", "--sub", "bench", "--ttl", "1d", "--roles", "service"],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()
    answer = ask(address, CREATE, {"input": {"name": "bench", "bytes": TOPIC_BYTES}}, token)
    if answer["createTopic"]["__typename"] != "Topic":
        raise Trouble(f"no topic: {answer}")

    before, open_before = resident_bytes(gateway.pid), cursors(options.mongodb)
    results: Any = multiprocessing.Queue()
    sent = multiprocessing.Value("q", -1)
    readers = multiprocessing.Process(
        target=subscribe, args=(address, token, options.subscribers, results, sent), daemon=True
    )
    readers.start()
    results.get(timeout=300)
    idle, open_with = resident_bytes(gateway.pid), cursors(options.mongodb)
    with MostResident(gateway.pid) as most_resident:
        begin = time.monotonic()
        number = publish(address, token, options.rate, options.seconds, sent)
        passed = time.monotonic() - begin
        found = results.get(timeout=options.seconds + 10 * PATIENCE)
    per = lambda resident: round((resident - before) / options.subscribers / 1024, 1)
    return {
        "subscribers": options.subscribers,
        "published": number,
        "published per second": round(number / passed, 1),
        **found,
        "cursors": open_with - open_before,
        "KiB per subscriber, idle": per(idle),
        "KiB per subscriber, at most": per(most_resident.bytes),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docgate", type=Path, required=True, help="binary of the gateway")
    parser.add_argument("--mongodb", required=True, help="URI of a replica set of one, without users")
    parser.add_argument("--subscribers", type=int, default=500)
    parser.add_argument("--rate", type=int, default=100, help="messages per second")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="docgate-bench-") as folder:
        try:
            with Processes(Path(folder)) as processes:
                print(json.dumps(run(options, processes), indent=2))
        except Trouble as trouble:
            print(f"bench: {trouble}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
