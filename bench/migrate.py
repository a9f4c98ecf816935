#!/usr/bin/env python3
"""`docgate migrate` alone and beside reads, and `docgate export`.

Each round measures, in databases of its own that it drops afterwards:

- how many documents of version 1 of `inventory` `docgate migrate --unlimited` upgrades in a second, alone;
- the delays of reads of the stock at a constant rate: alone, beside a migration with the limit of its rate, and beside one
  without it. A delay counts from the moment at which the read was due. The migrations take as long as the reads alone, or
  upgrade all documents before. The order is the other one in every second round;
- how fast `docgate export` writes these documents, compressed in each way, and the most memory that it had.

The targets: the 99th percentile of the delays beside a migration is at most 1.5 times that alone, 10,000 documents are
upgraded in a second, and 50 MiB of BSON are exported in a second with at most 100 MiB of memory.

Build the gateway as it is shipped:

    cargo build --profile dist --locked

Start a replica set of one, and run:

    mongod --replSet bench --dbpath /tmp/bench-migrate --port 27117
    mongosh --port 27117 --eval 'rs.initiate()'
    bench/migrate.py --mongodb "mongodb://127.0.0.1:27117/?directConnection=true"

Reads, docgate and MongoDB share the processors of the machine. The results are printed as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Dict, List, Tuple

import mongo
import servers
from client import Address, Connection, graphql
from processes import Processes, Trouble, free_port

ROOT = Path(__file__).resolve().parent.parent
#: Documents of version 1 as they were stored; the first has a reservation.
OLD = ROOT / "tests/api/migrations/inventory.v1.json"
STOCK = "query($sku: ID!) { stock(sku: $sku) { available } }"
#: Connections of the reads.
CONNECTIONS = 10
#: Documents of one insert.
BATCH = 5_000
COMPRESSIONS = ["zstd", "gzip", "none"]
MIB = 2**20


def finished(command: List[str], environment: Dict[str, str], limit: float) -> Tuple[str, float, int]:
    """What a command printed, its seconds, and the most bytes that it had in memory. The bench itself had less than that
    when it started the command, or else its own would be counted."""
    since = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        ended = 0
        while not ended:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if not ended and time.monotonic() - since > limit:
                process.kill()
            if not ended:
                time.sleep(0.01)
        seconds = time.monotonic() - since
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode != 0:
        raise Trouble(f"{' '.join(command[1:3])} ended with {process.returncode} after {seconds:.0f} s:\n{text[-2000:]}")
    return text, seconds, used.ru_maxrss * 1024


class Bench:
    def __init__(self, options: argparse.Namespace, processes: Processes, folder: Path):
        self._options, self._processes, self._folder = options, processes, folder
        self._mongo = mongo.Mongo(options.mongodb)
        self._made = 0

    def filled(self) -> "Filled":
        """A new database with documents of version 1."""
        self._made += 1
        name = f"bench_migrate_{os.getpid()}_{self._made}"
        filled = Filled(self._options, self._mongo, name)
        filled.fill()
        return filled

    def alone(self) -> Dict[str, Any]:
        """A migration alone, and exports of what it upgraded."""
        filled = self.filled()
        seconds, count = filled.migrate()
        found: Dict[str, Any] = {"migration": {"seconds": round(seconds, 1), "per second": round(count / seconds)}}
        size = self._mongo.command(filled.name, {"dbStats": 1})["dataSize"]
        for how in COMPRESSIONS:
            target = self._folder / "export"
            _, seconds, most = filled.run("export", str(target), "--compress", how)
            shutil.rmtree(target)
            found[f"export, {how}"] = {
                "seconds": round(seconds, 1), "MiB of BSON per second": round(size / MIB / seconds, 1),
                "most MiB in memory": round(most / MIB),
            }
        filled.drop()
        return found

    def reads(self, reverse: bool) -> Dict[str, Any]:
        """Delays of reads alone and beside migrations, of one gateway on one database."""
        filled = self.filled()
        address = ("127.0.0.1", free_port())
        environment = {**filled.environment, "DOCGATE_LISTEN": f"127.0.0.1:{address[1]}"}
        gateway = self._processes.start("docgate", [str(self._options.docgate), "serve"], environment)
        servers.wait_until_healthy(gateway, address)
        found = {}
        # Without a limit nothing is left to be upgraded.
        for side in [*(["limited", "alone"] if reverse else ["alone", "limited"]), "unlimited"]:
            found[side] = asyncio.run(self._side(side, filled, address))
        gateway.must_run("while it was measured")
        self._processes.end(gateway)
        filled.drop()
        return found

    async def _side(self, side: str, filled: "Filled", address: Address) -> Dict[str, Any]:
        stop, delays = asyncio.Event(), []
        load = asyncio.ensure_future(read(address, filled.count, self._options.rate, stop, delays))
        more: Dict[str, Any] = {}
        try:
            if side == "alone":
                await asyncio.sleep(self._options.seconds)
            elif side == "limited":
                more = {"migrated per second": await filled.begin_to_migrate(self._options.seconds)}
            else:
                seconds, count = await asyncio.get_running_loop().run_in_executor(None, filled.migrate)
                more = {"seconds": round(seconds, 1), "migrated per second": round(count / seconds)}
        finally:
            stop.set()
            await load
        if len(delays) < 100:
            raise Trouble(f"only {len(delays)} reads were made: migrate more documents, or read for longer")
        cuts = quantiles(delays, n=100)
        return {"reads": len(delays), "p50 ms": round(cuts[49], 2), "p99 ms": round(cuts[98], 2), **more}


class Filled:
    """A database with documents of version 1."""

    def __init__(self, options: argparse.Namespace, connection: mongo.Mongo, name: str):
        secret = "a secret of the bench, of 32 bytes at least"
        self.name, self.count = name, options.documents
        self.environment = servers.Database(options.mongodb, name, secret, secret, 0).environment()
        self._options, self._mongo = options, connection

    def run(self, *arguments: str) -> Tuple[str, float, int]:
        return finished([str(self._options.docgate), *arguments], self.environment, self._options.limit)

    def fill(self) -> None:
        self.run("indexes", "apply")
        old = json.loads(OLD.read_text())[0]
        del old["_id"]
        rest = mongo.fields(old)
        for begin in range(0, self.count, BATCH):
            numbers = range(begin, min(begin + BATCH, self.count))
            documents = [mongo.framed(mongo.fields({"_id": f"sku-{number}"}) + rest) for number in numbers]
            self._mongo.command(self.name, {"insert": "inventory", "ordered": False}, documents)

    def old(self) -> int:
        """Number of documents that aren't upgraded."""
        return self._mongo.command(self.name, {"count": "inventory", "query": {"v": 1}})["n"]

    def migrate(self) -> Tuple[float, int]:
        """Upgrades all documents that are left, and returns the seconds and their number."""
        left = self.old()
        said, seconds, _ = self.run("migrate", "inventory", "--unlimited")
        upgraded = re.search(r"inventory: ([\d,]+) upgraded", said)
        if not upgraded or int(upgraded[1].replace(",", "")) != left or self.old() != 0:
            raise Trouble(f"docgate migrate didn't upgrade {left} documents:\n{said[-2000:]}")
        return seconds, left

    async def begin_to_migrate(self, seconds: float) -> int:
        """Upgrades documents for so long with the limit of the rate, and returns how many in a second."""
        left, since = self.old(), time.monotonic()
        process = await asyncio.create_subprocess_exec(
            str(self._options.docgate), "migrate", "inventory", env=self.environment, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.wait_for(process.wait(), seconds)
        except asyncio.TimeoutError:
            process.terminate()
            await process.wait()
        rate = round((left - self.old()) / (time.monotonic() - since))
        if rate == 0:
            raise Trouble(f"docgate migrate ended with {process.returncode} and had upgraded nothing")
        return rate

    def drop(self) -> None:
        self._mongo.command(self.name, {"dropDatabase": 1})


async def read(address: Address, count: int, rate: int, stop: asyncio.Event, delays: List[float]) -> None:
    """Reads at a constant rate. Appends the delay of each in milliseconds."""
    begin, pause = time.monotonic(), CONNECTIONS / rate

    async def work(number: int) -> None:
        connection = await Connection.to(address)
        due = begin + number / rate
        while not stop.is_set():
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            sku = f"sku-{number * 7_919 % count}"
            status, body = await asyncio.wait_for(connection.send(graphql(STOCK, {"sku": sku})), 60)
            if status != 200 or b'"available":' not in body:
                raise Trouble(f"a read of {sku} failed with status {status}: {body[:300]!r}")
            delays.append((time.monotonic() - due) * 1000)
            due, number = due + pause, number + CONNECTIONS
        connection.close()

    await asyncio.gather(*(work(number) for number in range(CONNECTIONS)))


def run(options: argparse.Namespace, processes: Processes, folder: Path) -> Dict[str, Any]:
    bench = Bench(options, processes, folder)
    alone: List[Dict[str, Any]] = []
    reads: List[Dict[str, Any]] = []
    for number in range(options.rounds):
        alone.append(bench.alone())
        reads.append(bench.reads(number % 2 == 1))
    ratios = {
        side: [found[side]["p99 ms"] / found["alone"]["p99 ms"] for found in reads] for side in ["limited", "unlimited"]
    }
    rates = [found["migration"]["per second"] for found in alone]
    exports = [found[f"export, {how}"] for found in alone for how in COMPRESSIONS]
    return {
        "documents": options.documents,
        "reads per second": options.rate,
        "p99 of reads, beside a migration to alone": {
            "target, limited": 1.5,
            **{side: {"median": round(median(all_of), 2), "all": [round(ratio, 2) for ratio in all_of]}
               for side, all_of in ratios.items()},
        },
        "documents migrated per second, alone": {"target": 10_000, "median": round(median(rates)), "all": rates},
        "export, MiB of BSON per second": {
            "target": 50,
            **{how: median(found[f"export, {how}"]["MiB of BSON per second"] for found in alone) for how in COMPRESSIONS},
        },
        "export, most MiB in memory": {"target": 100, "most": max(found["most MiB in memory"] for found in exports)},
        "rounds": [{**one, "reads": two} for one, two in zip(alone, reads)],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docgate", type=Path, default=ROOT / "target/dist/docgate", help="binary of the gateway")
    parser.add_argument("--mongodb", required=True, help="URI of a replica set of one, without users")
    parser.add_argument("--documents", type=int, default=1_000_000, help="number of them in each database")
    parser.add_argument("--rate", type=int, default=500, help="reads per second")
    parser.add_argument("--seconds", type=int, default=60, help="length of the reads alone and beside a limited migration")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=900, help="seconds that one command of docgate may take")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docgate-bench-") as folder:
        try:
            with Processes(Path(folder)) as processes:
                print(json.dumps(run(options, processes, Path(folder)), indent=2))
        except (Trouble, OSError) as trouble:
            print(f"bench: {trouble}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
