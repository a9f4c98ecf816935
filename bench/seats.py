#!/usr/bin/env python3
"""Seats of one screening, held by 64 callers at once: docgate's `holdSeats` against one guarded update per hold by the
driver. Each seat must be held once.

Build the gateway as it is shipped, and the peer, which needs nothing of it:

    cargo build --profile dist --locked
    CARGO_TARGET_DIR=target cargo build --profile dist --locked --manifest-path bench/rust/Cargo.toml \\
        --no-default-features --bin seats

Start a replica set of one, and run:

    mongod --replSet bench --dbpath /tmp/bench-seats --port 27117
    mongosh --port 27117 --eval 'rs.initiate()'
    bench/seats.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true"

It starts a gateway with a database of its own, which it leaves there. In each round docgate gets a screening of its own, with
bookings that were opened before, one for each seat; a hold is a call over HTTP that changes the booking as well. The client is
one Python process on the same machine. The target is a ratio of 5."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Dict, List

import servers
from client import ask, data, graphql, send_all
from processes import Processes, Trouble, arguments, cpu_seconds, free_port, print_results
from servers import Database

ROOT = Path(__file__).resolve().parent.parent
#: Places of a row; a plan has at most 3,000 seats.
ROW = 150

THEATER = """mutation($input: CreateTheaterInput!) { createTheater(input: $input) {
  __typename ... on Theater { id } ... on UserError { code message } } }"""
SCREENING = """mutation($input: CreateScreeningInput!) { createScreening(input: $input) {
  __typename ... on Screening { id } ... on UserError { code message } } }"""
AVAILABLE = "query($id: ID!) { screening(id: $id) { seatsAvailable } }"
OPEN = """mutation { openBooking(input: { currency: "EUR" }) {
  __typename ... on Booking { id } ... on UserError { code message } } }"""
HOLD = """mutation($input: HoldSeatsInput!) { holdSeats(input: $input) {
  __typename ... on Booking { id state } ... on UserError { code message } } }"""


class Bench:
    def __init__(self, options: argparse.Namespace, processes: Processes):
        self._options = options
        secret = "a secret of the bench, of 32 bytes at least"
        self._database = Database(options.mongodb, f"bench_seats_{os.getpid()}", secret, secret, 0)
        self._address = ("127.0.0.1", free_port())
        environment = self._database.environment(DOCGATE_LISTEN=f"127.0.0.1:{self._address[1]}")
        command = [str(options.docgate)]
        subprocess.run([*command, "indexes", "apply"], env=environment, check=True, capture_output=True)
        self._gateway = processes.start("docgate", [*command, "serve"], environment)
        servers.wait_until_healthy(self._gateway, self._address)
        self._token = subprocess.run(
            [*command, "token", "--sub", "bench", "--ttl", "1d", "--roles", "merchant"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.strip()

    def docgate(self) -> Dict[str, Any]:
        seats = self._options.seats
        places = [min(ROW, seats - begin) for begin in range(0, seats, ROW)]
        plan = {
            "categories": [{"code": "A", "name": "All"}],
            "rows": [{"label": str(at), "places": "A" * count} for at, count in enumerate(places)],
        }
        theater = {"name": "Bench", "address": "Here", "location": {"latitude": 0, "longitude": 0}, "seatPlan": plan}
        made = ask(self._address, THEATER, {"input": theater}, self._token)
        screening = {
            "theaterId": made["createTheater"]["id"], "name": "Bench", "currency": "EUR",
            "startsAt": "2100-01-01T20:00:00Z", "endsAt": "2100-01-01T22:00:00Z",
            "prices": [{"category": "A", "price": 1_000}],
        }
        made = ask(self._address, SCREENING, {"input": screening}, self._token)
        identity = made["createScreening"]["id"]
        opened = send_all(self._address, [graphql(OPEN)] * seats, self._options.callers)
        bookings = [data(answer)["openBooking"]["id"] for answer in opened]
        calls = [
            graphql(HOLD, {"input": {
                "bookingId": booking, "screeningId": identity,
                "seats": [{"row": str(seat // ROW), "number": seat % ROW + 1}],
            }})
            for seat, booking in enumerate(bookings)
        ]
        used, since = cpu_seconds(self._gateway.pid), time.perf_counter()
        answers = send_all(self._address, calls, self._options.callers)
        seconds = time.perf_counter() - since
        used = cpu_seconds(self._gateway.pid) - used
        held = sum(data(answer)["holdSeats"]["__typename"] == "Booking" for answer in answers)
        left = ask(self._address, AVAILABLE, {"id": identity})["screening"]["seatsAvailable"]
        if held + left != seats:
            raise Trouble(f"{held} holds, and {left} of {seats} seats are left")
        return {"held": held, "seconds": round(seconds, 3), "gateway, microseconds per hold": round(used / held * 1e6)}

    def driver(self) -> Dict[str, Any]:
        told = {"SEATS": str(self._options.seats), "CALLERS": str(self._options.callers)}
        environment = self._database.environment(**told)
        done = subprocess.run([self._options.client], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Trouble(f"the driver: {done.stderr.strip()}")
        return json.loads(done.stdout)


def run(options: argparse.Namespace, processes: Processes) -> Dict[str, Any]:
    bench = Bench(options, processes)
    sides = {"driver": bench.driver, "docgate": bench.docgate}
    rounds: Dict[str, List[Dict[str, Any]]] = {side: [] for side in sides}
    for number in range(options.rounds):
        for side in reversed(list(sides)) if number % 2 else list(sides):
            rounds[side].append(sides[side]())
    rates = {side: [found["held"] / found["seconds"] for found in all] for side, all in rounds.items()}
    ratios = [one / other for one, other in zip(rates["docgate"], rates["driver"])]
    return {
        "seats": options.seats,
        "callers": options.callers,
        "holds per second": {side: [round(rate) for rate in all] for side, all in rates.items()},
        "docgate to driver": [round(ratio, 2) for ratio in ratios],
        "median": round(median(ratios), 2),
        **rounds,
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--client", type=Path, default=ROOT / "target/dist/seats", help="binary of the peer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seats", type=int, default=3_000)
    parser.add_argument("--callers", type=int, default=64)
    options = parser.parse_args()
    return print_results(lambda processes, _folder: run(options, processes))


if __name__ == "__main__":
    sys.exit(main())
