#!/usr/bin/env python3
"""Logging events: through the gateway, and with MongoDB's driver alone.

Two rows: batches of 1,000 events of a few callers, against `insert_many`, and single events at 256 connections, against one
`insert_one` for each event. All writes are acknowledged by a majority, and both collections have the same indexes.

Build the gateway as it is shipped, and the callers, which need nothing of it:

    cargo build --profile dist --locked
    CARGO_TARGET_DIR=target cargo build --profile dist --locked --manifest-path bench/rust/Cargo.toml \\
        --no-default-features --bin events

Start a replica set of one, and run:

    mongod --replSet bench --dbpath /tmp/bench-events --port 27117
    mongosh --port 27117 --eval 'rs.initiate()'
    bench/events.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true" --rounds 3 --seconds 20

The two sides take turns, in the other order in every second round. The callers are a process on the same machine; the
processors that each process used are in the result. It leaves its database there."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, Dict, List

import servers
from processes import Processes, Trouble, arguments, cpu_seconds, free_port, print_results
from servers import Database

ROOT = Path(__file__).resolve().parent.parent
#: By name: number of callers, and of events in a call.
ROWS = {"batches of 1,000": (8, 1_000), "single events": (256, 1)}


class Bench:
    def __init__(self, options: argparse.Namespace, processes: Processes):
        self._options = options
        secret = "a secret of the bench, of 32 bytes at least"
        self._database = Database(options.mongodb, f"bench_events_{os.getpid()}", secret, secret, 0)
        self._port = free_port()
        environment = self._database.environment(DOCGATE_LISTEN=f"127.0.0.1:{self._port}")
        command = [str(options.docgate)]
        subprocess.run([*command, "indexes", "apply"], env=environment, check=True, capture_output=True)
        self._gateway = processes.start("docgate", [*command, "serve"], environment)
        servers.wait_until_healthy(self._gateway, ("127.0.0.1", self._port))
        self._token = subprocess.run(
            [*command, "token", "--sub", "bench", "--ttl", "1d", "--roles", "service"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.strip()

    def run(self, side: str, callers: int, batch: int) -> Dict[str, Any]:
        told = {"CALLERS": str(callers), "BATCH": str(batch), "SECONDS": str(self._options.seconds)}
        if side == "docgate":
            told.update(ADDRESS=f"127.0.0.1:{self._port}", TOKEN=self._token)
        environment = self._database.environment(**told)
        before = cpu_seconds(self._gateway.pid)
        done = subprocess.run([self._options.client], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Trouble(f"{side}: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        found["per second"] = round(found["events"] / found["seconds"])
        if side == "docgate":
            used = cpu_seconds(self._gateway.pid) - before
            found["gateway, microseconds of a processor per event"] = round(used / max(1, found["events"]) * 1e6, 1)
        return found


def run(options: argparse.Namespace, processes: Processes) -> Dict[str, Any]:
    bench = Bench(options, processes)
    rows: Dict[str, Any] = {}
    for name, (callers, batch) in ROWS.items():
        rounds: Dict[str, List[Dict[str, Any]]] = {"driver": [], "docgate": []}
        for number in range(options.rounds):
            sides = list(rounds)
            for side in reversed(sides) if number % 2 else sides:
                rounds[side].append(bench.run(side, callers, batch))
        rates = {side: [found["per second"] for found in all] for side, all in rounds.items()}
        ratios = [one / other for one, other in zip(rates["docgate"], rates["driver"])]
        rows[name] = {
            "callers": callers,
            "events in a call": batch,
            "docgate to driver": [round(ratio, 2) for ratio in ratios],
            "median": round(median(ratios), 2),
            **rounds,
        }
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--client", type=Path, default=ROOT / "target/dist/events", help="binary of the callers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20, help="length of each run")
    options = parser.parse_args()
    return print_results(lambda processes, _folder: run(options, processes))


if __name__ == "__main__":
    sys.exit(main())
