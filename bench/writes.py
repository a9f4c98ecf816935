#!/usr/bin/env python3
"""What the indexes of the products cost when one is written: `setProductPrice` and `createProduct` with all of them, and
with those alone that there were before products had combined lists, suggestions, slugs, ratings, numbers and metadata.

Two databases on one mongod hold the same products, and each has a gateway. From the second the indexes named in `ADDED`
are dropped; the documents stay the same. In each round both gateways carry out as many price changes and creations, one
side after the other, in the other order in every second round. The gateways run no sweeps: facets don't follow, which costs
the same with all indexes and without. Told of each are

- changes in a second, from the first request to the last response;
- processor time of mongod and of the gateway for each;
- writes to the collection for each change, and the mean time of one as mongod measures it (`$collStats`).

The ratios are of all indexes to those before: of changes in a second below 1, of times above 1. There is no target.

Build the gateway as it is shipped:

    cargo build --profile dist --locked

Start a replica set of one, and run:

    mongod --replSet bench --dbpath /tmp/bench-writes --port 27117
    mongosh --port 27117 --eval 'rs.initiate()'
    bench/writes.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true"

It drops its databases afterwards. The client is one Python process on the same machine. The results are printed as JSON."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Callable, Dict, List, Tuple

import mongo
import servers
import shop
from bench import until_quiet
from client import data, graphql, send_all
from processes import Processes, Trouble, arguments, cpu_seconds, free_port, print_results
from servers import Database

ROOT = Path(__file__).resolve().parent.parent
COLLECTION = "products"
#: Indexes that came since the last whole run of the bench. That of `facets.at` came too; the facets need it.
ADDED = [
    *("newest", "type_newest", "category_newest", "category_own_newest", "category_price", "category_own_price"),
    *("category_discount", "category_own_discount", "rating", "category_rating", "number"),
    *("words", "typos", "slugs", "metadata"),
]
#: Categories below each of the first ones, and people who are credited.
ROOTS, BELOW, PEOPLE = 5, 10, 200
WORDS = [
    *("river", "lamp", "winter", "garden", "signal", "harbour", "velvet", "engine", "meadow", "copper"),
    *("lantern", "canyon", "ferry", "silver", "midnight", "bell", "forest", "needle", "kingdom", "paper"),
]
GENRES = ["Jazz", "Rock", "Folk", "Opera", "Ambient"]

PRICE = """mutation($input: SetProductPriceInput!) { setProductPrice(input: $input) {
  __typename ... on Product { sku } ... on UserError { code message } } }"""
CREATE = """mutation($input: CreateProductInput!) { createProduct(input: $input) {
  __typename ... on Product { sku } ... on UserError { code message } } }"""
IDS = """query($after: String) { categorySubtree(path: "/", first: 100, after: $after) {
  nodes { id path } pageInfo { hasNextPage endCursor } } }"""


def paths() -> List[str]:
    """Those of the categories that products stand in."""
    return [f"/root-{root}/below-{at}" for root in range(ROOTS) for at in range(BELOW)]


def content(draw: random.Random) -> Dict[str, Any]:
    """Title, description and details: of an album with tracks, or of an article with properties and numbers."""

    def title() -> str:
        return f"{draw.choice(WORDS)} {draw.choice(WORDS)} {draw.randrange(10_000)}".capitalize()

    made: Dict[str, Any] = {
        "title": title(),
        "description": " ".join(draw.choice(WORDS) for _ in range(80)),
        "issueDate": f"{draw.randrange(1960, 2026)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 28):02}",
        "shipping": {"weight": draw.randrange(50, 5_000)},
    }
    if draw.random() < 0.5:
        tracks = [{"title": title(), "seconds": draw.randrange(60, 600)} for _ in range(10)]
        album = {"genres": draw.sample(GENRES, 2), "label": "Tin Roof", "tracks": tracks}
        return {**made, "details": {"album": album}}
    properties = [{"key": f"key-{at}", "value": draw.choice(WORDS)} for at in range(5)]
    numbers = [{"key": f"number-{at}", "value": draw.randrange(1_000)} for at in range(3)]
    generic = {"type": draw.choice(["headphones", "speaker"]), "properties": properties, "numbers": numbers}
    return {**made, "details": {"generic": generic}}


def pricing(draw: random.Random) -> Dict[str, Any]:
    whole = draw.randrange(1_000, 5_000)
    return {"list": whole, "retail": draw.randrange(100, whole), "currency": "EUR"}


class Side:
    """A database with products, and its gateway."""

    def __init__(self, name: str, options: argparse.Namespace, processes: Processes, folder: Path):
        self.name = name
        self._options, self._mongo = options, mongo.Mongo(options.mongodb)
        secret = "a secret of the bench, of 32 bytes at least"
        self._database = Database(options.mongodb, f"bench_writes_{os.getpid()}_{name}", secret, secret, 0)
        self._address = ("127.0.0.1", free_port())
        self._environment = self._database.environment(DOCGATE_LISTEN=f"127.0.0.1:{self._address[1]}")
        self._run("indexes", "apply")
        self._fill(folder)
        for index in ADDED if name == "before" else []:
            self._mongo.command(self._database.name, {"dropIndexes": COLLECTION, "index": index})
        self.indexes = len(self._list({"listIndexes": COLLECTION, "cursor": {"batchSize": 100}}))
        serving = {**self._environment, "DOCGATE_BACKGROUND": "false"}
        self._gateway = processes.start(name, [str(options.docgate), "serve"], serving)
        servers.wait_until_healthy(self._gateway, self._address)
        self._token = self._run("token", "--sub", "bench", "--ttl", "1d", "--roles", "merchant").strip()
        pages = shop.all_pages(self._address, IDS, "categorySubtree")
        ids = {node["path"]: node["id"] for page in pages for node in page["nodes"]}
        self._categories = [ids[path] for path in paths()]
        self._pids = [self._gateway.pid, self._mongo.command("admin", {"serverStatus": 1})["pid"]]

    def _run(self, *arguments: str) -> str:
        command = [str(self._options.docgate), *arguments]
        run = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=1800)
        if run.returncode != 0:
            raise Trouble(f"docgate {' '.join(arguments)}: {run.stdout}{run.stderr}")
        return run.stdout

    def _fill(self, folder: Path) -> None:
        draw = random.Random(1)
        roots = [f"/root-{root}" for root in range(ROOTS)]
        categories = [{"path": path, "names": {"en": path[1:]}} for path in [*roots, *paths()]]
        people = [{"key": f"person-{at}", "name": f"{draw.choice(WORDS)} {at}"} for at in range(PEOPLE)]
        products = [
            {
                "sku": f"product-{at:06}",
                "categories": draw.sample(paths(), 2),
                "pricing": pricing(draw),
                "contributors": [{"personKey": f"person-{at * PEOPLE // self._options.products}", "role": "artist"}],
                "content": content(draw),
            }
            for at in range(self._options.products)
        ]
        for what, lines in (("categories", categories), ("people", people), (COLLECTION, products)):
            file = folder / f"{what}.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            self._run("import", what, str(file))

    def prices(self, number: int, count: int) -> List[bytes]:
        """Price changes of so many products, each once."""
        draw = random.Random(f"prices {number}")
        chosen = draw.sample(range(self._options.products), count)
        inputs = [{"sku": f"product-{at:06}", **pricing(draw)} for at in chosen]
        return [graphql(PRICE, {"input": one}, self._token) for one in inputs]

    def creations(self, number: int, count: int) -> List[bytes]:
        """Creations of so many products."""
        draw = random.Random(f"creations {number}")
        inputs = [
            {
                "sku": f"new-{number}-{at}",
                "categoryIds": draw.sample(self._categories, 2),
                "pricing": pricing(draw),
                "content": content(draw),
            }
            for at in range(count)
        ]
        return [graphql(CREATE, {"input": one}, self._token) for one in inputs]

    def measure(self, requests: List[bytes]) -> Dict[str, Any]:
        until_quiet(self._pids)
        before, (writes, micros) = self._used(), self._writes()
        since = time.perf_counter()
        answers = send_all(self._address, requests, self._options.callers)
        seconds = time.perf_counter() - since
        for answer in answers:
            data(answer)
        gateway, mongod = (after - then for after, then in zip(self._used(), before))
        self._gateway.must_run("while it was measured")
        writes_after, micros_after = self._writes()
        writes, micros = writes_after - writes, micros_after - micros
        count = len(requests)
        return {
            "seconds": round(seconds, 3),
            "per second": round(count / seconds, 1),
            "writes per second": round(writes / seconds, 1),
            "mongod, microseconds each": round(mongod / count * 1e6),
            "gateway, microseconds each": round(gateway / count * 1e6),
            "writes each": round(writes / count, 2),
            "microseconds per write": round(micros / max(1, writes)),
        }

    def _used(self) -> List[float]:
        """Processor seconds of the gateway and of mongod."""
        return [cpu_seconds(pid) for pid in self._pids]

    def _writes(self) -> Tuple[int, int]:
        """Writes to the collection so far, and the microseconds that they took."""
        stage = {"$collStats": {"latencyStats": {}}}
        found = self._list({"aggregate": COLLECTION, "pipeline": [stage], "cursor": {}})
        told = found[0]["latencyStats"]["writes"]
        return told["ops"], told["latency"]

    def _list(self, command: Dict[str, Any]) -> List[Dict[str, Any]]:
        return self._mongo.command(self._database.name, command)["cursor"]["firstBatch"]

    def drop(self) -> None:
        self._mongo.command(self._database.name, {"dropDatabase": 1})


Making = Callable[[Side, int], List[bytes]]


def run(options: argparse.Namespace, processes: Processes, folder: Path) -> Dict[str, Any]:
    sides = [Side(name, options, processes, folder) for name in ("all", "before")]
    everything, before = sides
    if everything.indexes - before.indexes != len(ADDED):
        raise Trouble(f"there are {everything.indexes} indexes, and {before.indexes} without those that were added")
    found: Dict[str, Any] = {
        "products": options.products,
        "callers": options.callers,
        "indexes": {side.name: side.indexes for side in sides},
    }
    changes: Dict[str, Making] = {
        "price": lambda side, number: side.prices(number, options.prices),
        "creation": lambda side, number: side.creations(number, options.creations),
    }
    for what, making in changes.items():
        rounds: Dict[str, List[Dict[str, Any]]] = {side.name: [] for side in sides}
        # The first round isn't counted: connections are opened, and the server has the documents in memory.
        for number in range(options.rounds + 1):
            for side in sides if number % 2 else reversed(sides):
                told = side.measure(making(side, number))
                print(f"{what}, {side.name}, round {number}: {told['per second']} a second", file=sys.stderr)
                if number:
                    rounds[side.name].append(told)
        found[what] = {"all to before": ratios(rounds), **rounds}
    for side in sides:
        side.drop()
    return found


def ratios(rounds: Dict[str, List[Dict[str, Any]]]) -> Dict[str, Any]:
    """Median, least and most of the ratios of the rounds."""
    told = {}
    for figure in ("per second", "mongod, microseconds each", "gateway, microseconds each", "microseconds per write"):
        pairs = zip(rounds["all"], rounds["before"])
        found = [one[figure] / other[figure] for one, other in pairs if other[figure]]
        told[figure] = [round(ratio, 2) for ratio in (median(found), min(found), max(found))] if found else None
    return told


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--products", type=int, default=20_000, help="products that there are")
    parser.add_argument("--prices", type=int, default=5_000, help="price changes of a round")
    parser.add_argument("--creations", type=int, default=2_000, help="creations of a round")
    parser.add_argument("--callers", type=int, default=64)
    options = parser.parse_args()
    if options.prices > options.products:
        parser.error("--prices: each product is changed once in a round")
    return print_results(lambda processes, folder: run(options, processes, folder))


if __name__ == "__main__":
    sys.exit(main())
