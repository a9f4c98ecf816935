#!/usr/bin/env python3
"""Many followers of one crowded place of the game, while characters walk in and out: how long after a move was answered each
follower sees it, how many cursors MongoDB has open for it, and who used the processors.

Build the gateway as it is shipped:

    cargo build --profile dist --locked

Start a replica set of one, and run:

    mongod --replSet bench --dbpath /tmp/bench-followers --port 27117
    mongosh --port 27117 --eval 'rs.initiate()'
    bench/followers.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true"

The limit of open files has to be more than the followers (`ulimit -n`). It starts a gateway with a database of its own, which
it leaves there. The followers and the walking characters are one Python process on the same machine, whose share of the
processors is in the result, as are those of the gateway and of MongoDB. The target is a delay of less than a second at p99
with 1,000 followers at 50 moves per second, and one cursor."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from bisect import bisect_left
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import servers
from client import Address, Connection, bearer, data, encoded, graphql
from game import global_id, stored
from processes import (
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
from topics import Status

ROOT = Path(__file__).resolve().parent.parent
#: Characters of the world, ten of each player. Those that walk begin in the hall as the others do.
CHARACTERS, OF_ONE = 90, 10
FOLLOW = "subscription { placeChanged(placeId: %s) { version players { id name } things { id description } } }"
MOVE = """mutation($input: MoveInput!) { move(input: $input) {
  __typename ... on Character { id } ... on UserError { code message } } }"""
#: Time for the last changes to arrive.
PATIENCE = 5.0


def world() -> List[dict]:
    lines: List[dict] = [{"item": {"key": "hat", "name": "wizard's hat", "price": 40, "slots": ["HEAD"]}}]
    things = [{"key": f"hat-{at}", "item": "hat", "bonus": 1 + at} for at in range(10)]
    for key in ["hall", "garden"]:
        lines.append({"place": {"key": key, "title": key, "description": "", "things": things}})
    lines.append({"exit": {"from": "hall", "direction": "OUT", "to": "garden"}})
    lines.append({"exit": {"from": "garden", "direction": "IN", "to": "hall"}})
    for number in range(CHARACTERS):
        one = {"key": f"c-{number}", "owner": player(number), "name": f"Character {number}", "class": "bard"}
        lines.append({"character": {**one, "place": "hall"}})
    return lines


def player(number: int) -> str:
    return f"player-{number // OF_ONE}"


class Follower(asyncio.Protocol):
    """Reads responses as server-sent events, one in each chunk, and notes which came when."""

    #: Each response that any follower got, by its text: its place in the order of arrival.
    known: Dict[bytes, int] = {}

    def __init__(self, request: bytes):
        self._request, self._rest = request, b""
        self.first: asyncio.Future = asyncio.get_running_loop().create_future()
        #: Places and times of the responses.
        self.places: List[int] = []
        self.times: List[float] = []
        self.is_open = True

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, received: bytes) -> None:
        now, self._rest = time.monotonic(), self._rest + received
        while True:
            begin = self._rest.find(b"data:")
            end = self._rest.find(b"\n\n", begin)
            if begin < 0 or end < 0:
                return
            text, self._rest = self._rest[begin + 5 : end], self._rest[end + 2 :]
            if b'"placeChanged"' not in text:
                raise Trouble(f"a follower was told: {text[:300]!r}")
            self.places.append(self.known.setdefault(text, len(self.known)))
            self.times.append(now)
            if not self.first.done():
                self.first.set_result(None)

    def connection_lost(self, _: Optional[Exception]) -> None:
        self.is_open = False
        if not self.first.done():
            self.first.set_exception(Trouble(f"a follower was refused: {self._rest[:300]!r}"))

    def close(self) -> None:
        self._transport.close()


#: A move: the character, whether it is in the hall afterwards, when it was sent, and when it was answered.
Move = Tuple[str, bool, float, float]


async def walk(address: Address, token: str, character: str, every: float, begin: float, until: float) -> List[Move]:
    """Walks out and in, and says when each move was sent and answered."""
    connection, moves, is_there, due = await Connection.to(address), [], True, begin
    while due < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        sent = time.monotonic()
        moving = {"characterId": character, "direction": "OUT" if is_there else "IN"}
        answer = data(await connection.send(graphql(MOVE, {"input": moving}, token)))["move"]
        if answer["__typename"] != "Character":
            raise Trouble(f"no move: {answer}")
        is_there = not is_there
        moves.append((character, is_there, sent, time.monotonic()))
        due += every
    connection.close()
    return moves


def delays(moves: List[Move], followers: List[Follower]) -> List[float]:
    """How long after its answer each follower saw each move. What was seen before the answer counts as 0."""
    texts = sorted(Follower.known, key=Follower.known.__getitem__)
    shown = [json.loads(text)["data"]["placeChanged"] for text in texts]
    by_version = sorted(range(len(shown)), key=lambda at: int(shown[at]["version"]))
    rank = {place: at for at, place in enumerate(by_version)}
    there = [{one["id"] for one in shown[place]["players"]} for place in by_version]
    first_seen = [min(f.times[f.places.index(place)] for f in followers if place in f.places) for place in by_version]
    found: List[float] = []
    seen = [[rank[place] for place in follower.places] for follower in followers]
    for character, is_there, sent, answered in moves:
        begin = bisect_left(first_seen, sent)
        at = next((at for at in range(begin, len(there)) if (character in there[at]) == is_there), None)
        if at is None:
            raise Trouble("nobody saw a move")
        for follower, ranks in zip(followers, seen):
            place = bisect_left(ranks, at)
            if place == len(ranks):
                raise Trouble("a follower missed a move")
            found.append(max(0.0, follower.times[place] - answered))
    return sorted(found)


async def measure(options: argparse.Namespace, address: Address, tokens: List[str], used: Any) -> Dict[str, Any]:
    hall = json.dumps(global_id("place", stored("place", "hall")))
    body = json.dumps({"query": FOLLOW % hall})
    headers = {**bearer(tokens[0]), "Accept": "text/event-stream"}
    request = encoded("POST", "/graphql", body, headers)
    loop, followers = asyncio.get_running_loop(), []
    for _ in range(options.followers):
        _, follower = await loop.create_connection(lambda: Follower(request), *address)
        followers.append(follower)
        if len(followers) % 50 == 0:
            await asyncio.gather(*(follower.first for follower in followers[-50:]))
    await asyncio.gather(*(follower.first for follower in followers))
    opened, resident = Status(options.mongodb), options.resident()
    every = options.walkers / options.rate
    begin = time.monotonic() + 1.0
    before, until = used(), begin + options.seconds
    walks = [
        walk(address, tokens[at // OF_ONE], global_id("character", stored("character", f"c-{at}")), every,
             begin + at / options.rate, until)
        for at in range(options.walkers)
    ]
    moves = [move for found in await asyncio.gather(*walks) for move in found]
    passed, after = time.monotonic() - begin, used()
    await asyncio.sleep(PATIENCE)
    closed = sum(not follower.is_open for follower in followers)
    found, took = delays(moves, followers), sorted(answered - sent for _, _, sent, answered in moves)
    for follower in followers:
        follower.close()
    part = lambda all, share: round(all[min(len(all) - 1, int(len(all) * share))] * 1e3, 1)
    return {
        "followers": options.followers,
        "moves": len(moves),
        "moves per second": round(len(moves) / passed, 1),
        "a move took, ms": {"p50": part(took, 0.5), "p99": part(took, 0.99)},
        "responses per follower and second": round(sum(len(f.times) for f in followers) / len(followers) / passed, 2),
        "delay after the answer, ms": {"p50": part(found, 0.5), "p99": part(found, 0.99), "max": part(found, 1.0)},
        "closed connections": closed,
        "cursors": opened.cursors,
        "resident KiB per follower": round(resident / options.followers / 1024, 1),
        "processors used": {of: round((after[of] - before[of]) / passed, 2) for of in after},
    }


def run(options: argparse.Namespace, folder: Path, processes: Processes) -> Dict[str, Any]:
    secret = "a secret of the bench, of 32 bytes at least"
    database = Database(options.mongodb, f"bench_followers_{os.getpid()}", secret, secret, 0)
    address, most = ("127.0.0.1", free_port()), str(options.followers + 1_000)
    environment = database.environment(
        DOCGATE_LISTEN=f"127.0.0.1:{address[1]}",
        DOCGATE_MAX_CONNECTIONS=most,
        DOCGATE_LIVE_CONNECTIONS=most,
    )
    command = [str(options.docgate)]
    subprocess.run([*command, "indexes", "apply"], env=environment, check=True, capture_output=True)
    file = folder / "world.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in world()))
    subprocess.run([*command, "import", "world", str(file)], env=environment, check=True, capture_output=True)
    gateway = processes.start("docgate", [*command, "serve"], environment)
    servers.wait_until_healthy(gateway, address)
    tokens = [
        subprocess.run(
            [*command, "token", "--sub", player(number), "--ttl", "1d", "--roles", "player"],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.strip()
        for number in range(0, CHARACTERS, OF_ONE)
    ]
    idle, closed = resident_bytes(gateway.pid), Status(options.mongodb).cursors
    options.resident = lambda: resident_bytes(gateway.pid) - idle
    used = lambda: {
        "gateway": cpu_seconds(gateway.pid),
        "followers and players": cpu_seconds(os.getpid()),
        "MongoDB": Status(options.mongodb).cpu_seconds,
    }
    found = asyncio.run(measure(options, address, tokens, used))
    return {**found, "cursors": found["cursors"] - closed}


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--followers", type=int, default=1_000)
    parser.add_argument("--rate", type=float, default=50.0, help="moves per second")
    parser.add_argument("--walkers", type=int, default=60, help=f"characters that walk, of the {CHARACTERS} in the world")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    allow_many_files()
    return print_results(lambda processes, folder: run(options, folder, processes))


if __name__ == "__main__":
    sys.exit(main())
