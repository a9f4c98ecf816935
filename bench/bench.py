"""One run of the benchmark: who is started when, what is measured in which order."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import platform
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Union

import earlier
import game
import growth
import load
import scenarios
import servers
import shop
import social
import transfers
import works
from client import bearer, send_all
from options import ROOT, settings
from processes import MostResident, Processes, Trouble, busy_seconds, cpu_seconds, resident_bytes
from results import counted, digits, median
from servers import ASIDE, ASSURED, DOCGATE, EARLIER, TRANSACTIONS, Running, Server

#: Requests whose answers are compared before the work is measured.
COMPARED = 12
#: What is kept of a command that docgate explains.
EXPLAINED = ("collection", "command", "keysExamined", "docsExamined", "returned")
#: By how much the mean size of answers that aren't looked into may differ from those that were.
SIZE_TOLERANCE = 0.1


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Bench:
    """One run of the benchmark, and what it has found so far."""

    def __init__(self, options: argparse.Namespace, processes: Processes, folder: Path):
        self.options = options
        self.processes = processes
        self.folder = folder
        self.places = servers.Places(ROOT, options.docgate, options.rust, options.peers, options.data)
        self.places.against, self.places.against_commit = options.against, options.against_commit
        self.results: Dict[str, Any] = {
            "remarks": list(options.remark),
            "servers": {},
            "runs": [],
            "scenarios": [],
            "growth": [],
            "transfers": [],
            "delivery": [],
            "works": [],
        }
        self.running: Dict[str, Running] = {}
        self.began = time.monotonic()
        self.name = f"{os.getpid():x}{int(time.time()):x}"
        self._count = 0
        #: Mean bytes of the answers that were looked into, by work, server and connections.
        self.sizes: Dict[Tuple[str, str, int], float] = {}

    def run(self) -> None:
        self.results.update(
            when=datetime.datetime.now().astimezone().isoformat("T", "minutes"), machine=machine()
        )
        self.results["settings"] = settings(self.options)
        say("Filling the shop …")
        options = self.options
        self.database = servers.fill(self.places, self.processes, options.products, not options.keep_data)
        wanted = servers.available(self.places, options.servers, self.results["remarks"])
        self.results["versions"] = servers.versions(self.places, self.database)
        for server in wanted:
            self.start(server)
        chosen = [name for name in works.NAMES if name in options.only]
        if chosen:
            self.measure_works(chosen, wanted)
        for running in list(self.running.values()):
            self.processes.end(running.process)
        if "scenarios" in options.only:
            self.measure_scenarios()
        if "growth" in options.only:
            self.measure_growth(next(server for server in wanted if server.name == DOCGATE))
        if "delivery" in options.only:
            self.measure_delivery(next(server for server in wanted if server.name == DOCGATE))
        if "assets" in options.only:
            self.measure_transfers(next(server for server in wanted if server.name == DOCGATE))
        if options.against:
            done = [work["name"] for work in self.results["works"]]
            done += {run["scenario"] for run in self.results["scenarios"]}
            titles = {**scenarios.TITLES, **{work["name"]: work["title"] for work in self.results["works"]}}
            self.results["remarks"] += earlier.remarks(titles, done)
        self.results["minutes"] = round((time.monotonic() - self.began) / 60, 1)
        self.save()

    def save(self) -> None:
        self.options.out.mkdir(parents=True, exist_ok=True)
        path = self.options.out / "results.json"
        path.write_text(json.dumps(self.results, indent=1, ensure_ascii=False) + "\n")

    # Starting

    def start(self, server: Server) -> None:
        """Starts it as often as its start is timed; the last one stays."""
        times = []
        count = self.options.starts if "start" in self.options.only else 1
        for number in range(count):
            running = server.start(self.processes, self.database)
            times.append(running.ready_millis)
            if number < count - 1:
                self.processes.end(running.process)
        time.sleep(1.5)
        idle = resident_bytes(running.pid)
        self.running[server.name] = running
        self.results["servers"][server.name] = {"readyMillis": times, "idleBytes": idle}
        say(f"{server.name}: ready after {median(times):.0f} ms, {idle / 2**20:.0f} MiB")

    # Work

    def measure_works(self, chosen: List[str], wanted: List[Server]) -> None:
        shelf = self.shelf(set(chosen))
        for server in wanted:
            if server.name in (DOCGATE, TRANSACTIONS, ASSURED):
                # docgate begins like an earlier one, without what it did for the preparation. The accounts and the
                # stock of the others are copies of what is there when they start.
                self.processes.end(self.running[server.name].process)
                self.running[server.name] = server.start(self.processes, self.database)
        shelf = dataclasses.replace(shelf, address=self.running[DOCGATE].address)
        before = self.start_earlier(shelf) if self.options.against else {}
        for work in works.works(shelf):
            if work.name not in chosen:
                continue
            if servers.APART in set(work.by) & set(self.options.servers):
                self.running[servers.APART] = servers.apart(self.places).start(self.processes, self.database)
            for aside in set(ASIDE) & set(work.by) & set(self.options.servers):
                self.running[aside] = dataclasses.replace(self.running[DOCGATE], name=aside)
            if work.name == "news" and not self.fill_news(len(shelf.viewers)):
                continue
            work.by.update({EARLIER: before[work.name]} if work.name in before else {})
            by = {name: making for name, making in work.by.items() if name in self.running}
            told: Dict[str, Any] = {"name": work.name, "title": work.title, "what": work.what}
            self.results["works"].append(told)
            self.compare(work)
            if work.commands is not None:
                told["commands"] = self.commands(work)
            for connections in self.options.connections:
                self.measure(work.name, by, connections)
                self.save()
            if apart := self.running.pop(servers.APART, None):
                self.processes.end(apart.process)
            for aside in ASIDE:
                self.running.pop(aside, None)

    def fill_news(self, viewers: int) -> bool:
        """Makes the news. Whether that can be done."""
        if not self.has_social("News page"):
            return False
        say("Filling the news …")
        social.run(self.places, self.database, "viewers", str(viewers))
        until_quiet([self.database.pid])
        return True

    def has_social(self, what: str) -> bool:
        if not social.is_built(self.places):
            self.results["remarks"].append(f"{what}: not measured, the binary `{social.BINARY}` wasn't built.")
        return social.is_built(self.places)

    def start_earlier(self, shelf: works.Shelf) -> Dict[str, works.Making]:
        """Starts the earlier docgate on a copy of the shop, and returns what it is sent."""
        say("Copying the shop for the earlier docgate …")
        binary = self.options.against
        name = earlier.copy(self.places, self.database, binary, self.database.name)
        server = servers.earlier(binary)
        running = self.running[EARLIER] = server.start(self.processes, self.database, name)
        told = {"readyMillis": [running.ready_millis], "idleBytes": resident_bytes(running.pid)}
        self.results["servers"][EARLIER] = told
        # Cursors are its own, and carts are opened where they are filled.
        keys = dataclasses.replace(shelf.keys, cursors=shop.read_keys(running.address).cursors)
        shelf = dataclasses.replace(shelf, address=running.address, keys=keys)
        making = {work.name: work.by[DOCGATE] for work in works.works(shelf)}
        return {
            name: lambda how, made=made: earlier.asked(made(how))
            for name, made in making.items()
            if name not in earlier.SKIPPED
        }

    def shelf(self, chosen: Set[str]) -> works.Shelf:
        address = self.running[DOCGATE].address
        keys = shop.read_keys(address)
        token = servers.token(self.places, self.database, shop.SUBJECT)
        # Without money nothing is paid: any name will do.
        accounts = [works.NO_ACCOUNT, works.NO_ACCOUNT]
        free: List[str] = []
        merchant = servers.token(self.places, self.database, "merchant", "merchant")
        if chosen & {"checkout", "paid", "hot", "transfer"}:
            say("Opening accounts and filling the shelves …")
            service = servers.token(self.places, self.database, "service", "service")
            accounts = shop.open_accounts(address, self.options.accounts, 1_000_000_000, token, service)
            environment = self.database.environment()
            free = shop.give_away(self.places, environment, self.folder, keys.undiscussed)
            shop.receive(address, [*keys.skus, *free], 1_000_000, merchant)
        counting = servers.token(self.places, self.database, "counting", "service")
        publisher = servers.token(self.places, self.database, "publisher", "publisher")
        if chosen & {"ads", "choose"}:
            say("Placing ads …")
            names = [f"advertiser-{number}" for number in range(shop.ADVERTISERS)]
            advertisers = [servers.token(self.places, self.database, name, "advertiser") for name in names]
            shop.place_ads(address, publisher, advertisers)
        discussed = keys.undiscussed[: shop.DISCUSSED]
        if "page" in chosen:
            say("Opening discussions …")
            names = [f"reviewer-{number}" for number in range(shop.REVIEWERS)]
            reviewers = [servers.token(self.places, self.database, name) for name in names]
            shop.discuss(address, [sku for sku, _ in discussed], merchant, reviewers)
        names = social.viewers(social.FEW_VIEWERS if self.options.quick else social.VIEWERS)
        viewers = list(zip(names, servers.tokens(self.database, names)))
        carts, world = self.options.carts, game.World()
        playing = servers.token(self.places, self.database, shop.SUBJECT, "player")
        if chosen & set(works.GAME):
            say("Making a world …")
            environment = self.database.environment()
            world = game.make(self.places, environment, self.folder, address, shop.SUBJECT, playing)
        return works.Shelf(
            address, keys, free, token, counting, accounts, discussed, carts, viewers, world, playing, publisher
        )

    def compare(self, work: works.Work) -> None:
        """Every server must answer as docgate does, or it would be measured at something else."""
        expected = self.answers(work, DOCGATE) if work.compared else []
        for name in [*work.compared, *([EARLIER] if work.name in earlier.SAME else [])]:
            if name not in self.running:
                continue
            for ours, theirs in zip(expected, self.answers(work, name)):
                if ours == theirs:
                    continue
                difference = "\n".join(differences(ours, theirs))
                raise Trouble(f"{work.title}: {name} answers otherwise than docgate:\n{difference}")

    def commands(self, work: works.Work) -> List[Dict[str, Any]]:
        """The commands of a request to docgate, as it tells an admin: of the request with most. None may send another one
        than the work says, and together they send all of those."""
        request = work.by[DOCGATE](self.asked(COMPARED))
        assert isinstance(request, load.Request)
        admin = servers.token(self.places, self.database, "admin", "admin")
        request = dataclasses.replace(request, headers={**bearer(admin), "X-Docgate-Explain": "1"})
        draw, expected = random.Random(8), Counter(work.commands)
        most: List[Dict[str, Any]] = []
        for _, body in send_all(self.running[DOCGATE].address, [request.sample(draw) for _ in range(COMPARED)]):
            sent = json.loads(body)["extensions"]["docgate"]["commands"]
            found = Counter(command["collection"] for command in sent)
            other, lacking = found - expected, expected - found - Counter(work.spared)
            if other or lacking:
                raise Trouble(f"{work.title}: commands to {dict(found)} instead of {dict(expected)}")
            most = max(most, sent, key=len)
        return [{key: command.get(key) for key in EXPLAINED} for command in most]

    def answers(self, work: works.Work, name: str) -> List[Any]:
        request = work.by[name](self.asked(COMPARED))
        assert isinstance(request, load.Request)
        draw = random.Random(7)
        found = send_all(self.running[name].address, [request.sample(draw) for _ in range(COMPARED)])
        answers = []
        for status, body in found:
            answer = json.loads(body)
            if status != 200 or answer.get("errors") or not answer.get("data"):
                raise Trouble(f"{work.title}: {name} answers with {status} {body.decode()[:500]}")
            answers.append(answer["data"])
        return answers

    def measure(self, name: str, by: Dict[str, works.Making], connections: int) -> None:
        """All servers in turn, round by round, each round in another order."""
        for number in range(self.options.rounds + 1):
            told = []
            for server in order(list(by), number):
                seconds = self.options.seconds if number else self.options.warm_up
                if not seconds:
                    continue
                running = self.running[server]
                how = self.asked(connections, seconds, number)
                outcome = self.drive(running, by[server], how, name)
                self.must_work(name, server, outcome)
                told.append(f"{server} {digits(outcome['done'] / outcome['seconds'])}")
                if number:
                    self.results["runs"].append(
                        {
                            "work": name,
                            "connections": connections,
                            "round": number,
                            "server": server,
                            **outcome,
                        }
                    )
            if number:
                where = f"{name}, {counted(connections, 'connection')}, round {number}"
                say(f"{where}: {', '.join(told)} a second")

    def must_work(self, name: str, server: str, outcome: load.Outcome) -> None:
        if outcome["failures"] and not outcome["done"]:
            raise Trouble(f"{name}: all that {server} was asked failed: {outcome['sample']}")

    def asked(self, connections: int, seconds: int = 0, number: int = 0) -> load.Load:
        """In a round all servers are asked for the same keys; idempotency keys are never used twice."""
        self._count += 1
        return load.Load(connections, seconds, connections + 1_000 * number, f"{self.name}-{self._count}")

    def drive(
        self, running: Running, making: works.Making, how: load.Load, name: Optional[str] = None
    ) -> load.Outcome:
        """One run, with what it took of the processor and of memory. To look into each answer takes wrk half the
        time that the fastest server takes for it, on the same machine. So where `name` tells the work, and it is
        the same few requests again and again, only the answers of the first run, the warm-up, are looked into;
        later ones must be as long on average."""
        request = making(how)
        key = (name or "", running.name, how.connections)
        steady = name is not None and isinstance(request, load.Request) and request.is_steady()
        checked = not steady or key not in self.sizes
        pids = {"serverCpu": running.pid, "mongodCpu": self.database.pid}
        before = {key: cpu_seconds(pid) for key, pid in pids.items()}
        busy, since = busy_seconds(), time.monotonic()
        with MostResident(running.pid) as resident:
            if isinstance(request, works.Flow):
                processes = self.options.client_processes
                outcome = load.flow(running.address, request.kind, request.lists, how, self.folder, processes)
            else:
                threads = self.options.threads
                outcome = load.wrk(running.address, request, how, self.folder, threads, checked)
                # A slow server may have answered nothing yet.
                if not outcome["done"]:
                    pass
                elif checked:
                    self.sizes.setdefault(key, outcome["answerBytes"])
                elif abs(outcome["answerBytes"] / self.sizes[key] - 1) > SIZE_TOLERANCE:
                    raise Trouble(f"{name}: the answers of {running.name} are of another size than before")
        running.process.must_run("under load")
        outcome.update({key: cpu_seconds(pid) - before[key] for key, pid in pids.items()})
        own = sum(outcome[key] for key in [*pids, "clientCpu"])
        # Of one processor; with what the bench itself does before and after the load.
        outcome["others"] = (busy_seconds() - busy - own) / (time.monotonic() - since)
        until_quiet([running.pid, self.database.pid])
        return {
            **outcome,
            "residentBytes": resident.bytes,
            "client": "own" if isinstance(request, works.Flow) else "wrk",
        }

    # Scenarios

    def measure_scenarios(self) -> None:
        say("Filling the simulator's data …")
        runs = self.options.rounds + 1
        scenarios.fill(self.places, self.database, self.folder, runs)
        docgate = Server(DOCGATE, [str(self.places.docgate), "serve"])
        running = docgate.start(self.processes, self.database, scenarios.DOCGATES)
        count = min(scenarios.ACCOUNTS, 200 if self.options.quick else scenarios.ACCOUNTS)
        side = scenarios.prepare(self.places, self.database, running.address, count, runs)
        node = servers.node_is_usable(self.places, self.results["remarks"])
        if node and not (self.places.peers / "direct.js").is_file():
            self.results["remarks"].append("The Node driver directly: not measured, direct.js isn't there.")
            node = None
        if node:
            scenarios.direct(node, self.places, self.database, "setup", "--runs", str(runs))
        self.processes.end(running.process)
        running = docgate.start(self.processes, self.database, scenarios.DOCGATES)
        before = self.earlier_side(side) if self.options.against else None
        for name in [name for name in scenarios.TITLES if name in self.options.scenarios]:
            if name == "jobs-many":
                if not node:
                    continue
                say(f"Putting {self.options.grown:,} finished jobs into both queues …")
                scenarios.finish_jobs(node, self.places, self.database, self.options.grown)
            try:
                self.measure_scenario(name, (running, side), before, node)
            except Trouble as trouble:
                running.process.must_run("after a scenario")
                told = str(trouble).strip().replace("`", "'").split("\n")[0][:300]
                self.results["remarks"].append(f"{scenarios.TITLES[name]}: not measured, `{told}`.")
            self.save()
        self.processes.end(running.process)
        if before:
            self.processes.end(before[0].process)

    def earlier_side(self, side: scenarios.Side) -> Tuple[Running, scenarios.Side]:
        """The earlier docgate on a copy of the simulator's data."""
        say("Copying the simulator's data for the earlier docgate …")
        name = earlier.copy(self.places, self.database, self.options.against, scenarios.DOCGATES)
        server = servers.earlier(self.options.against)
        return server.start(self.processes, self.database, name), dataclasses.replace(side, begun=Counter())

    def measure_scenario(
        self,
        name: str,
        today: Tuple[Running, scenarios.Side],
        before: Optional[Tuple[Running, scenarios.Side]],
        node: Optional[str],
    ) -> None:
        in_flight = scenarios.in_flight(name)

        def asked_today(_: load.Load) -> Union[load.Request, works.Flow]:
            return today[1].request(name)

        def asked_before(_: load.Load) -> Union[load.Request, works.Flow]:
            assert before
            return earlier.asked(before[1].request(name))

        def driven(running: Running, making: works.Making, number: int) -> Dict[str, Any]:
            seconds = self.options.seconds if number else self.options.warm_up
            outcome = self.drive(running, making, self.asked(in_flight, seconds, number))
            self.must_work(name, running.name, outcome)
            return outcome

        ours: Dict[str, Tuple[Running, works.Making]] = {"docgate": (today[0], asked_today)}
        if before and name not in earlier.SKIPPED:
            ours[EARLIER] = (before[0], asked_before)
        if self.options.warm_up:
            for running, making in ours.values():
                driven(running, making, 0)

        def directly(number: int, write_concern: str) -> Dict[str, Any]:
            before = cpu_seconds(self.database.pid)
            told = self.directly(str(node), name, number, write_concern)
            mongod = cpu_seconds(self.database.pid) - before
            until_quiet([self.database.pid])
            return {
                # Its warm-up took some of it.
                "mongodCpu": mongod * told["ops"] / max(1, told["allOps"]),
                "done": told["ops"],
                "seconds": told["seconds"],
                "failures": 0,
                "sample": "",
                "serverCpu": told["cpuSeconds"],
            }

        sides: Dict[str, Callable[[int], Dict[str, Any]]] = {
            **{
                who: lambda number, given=given: driven(*given, number) for who, given in ours.items()
            },
            **({"direct": lambda number: directly(number, "majority")} if node else {}),
            **({"direct1": lambda number: directly(number, "1")} if node and name in scenarios.FLOWS else {}),
        }
        for number in range(1, self.options.rounds + 1):
            told = []
            for who in order(list(sides), number):
                outcome = sides[who](number)
                told.append(f"{who} {digits(outcome['done'] / outcome['seconds'])}")
                self.results["scenarios"].append({"scenario": name, "round": number, "side": who, **outcome})
            say(f"{name}, round {number}: {', '.join(told)} a second")

    # Growth

    def measure_growth(self, docgate: Server) -> None:
        node = servers.node_is_usable(self.places, self.results["remarks"])
        if not node:
            return
        say(f"Filling databases of {growth.SMALL:,} and {self.options.grown:,} documents of each kind …")
        grown = growth.Growth(
            self.places, self.processes, self.database, docgate, node, self.options.grown
        )
        requests = 20 if self.options.quick else 100
        for read in growth.READS:
            found = grown.measure(read, self.options.rounds + 1, requests)
            self.results["growth"].append(found)
            small, large = (median(taken) for taken in found["millis"])
            kept = "" if growth.keeps_bounds(found) else ", MORE THAN IT MAY"
            say(f"{read.title}: {digits(small)} and {digits(large)} ms{kept}")
            self.save()

    # Posts to many followers

    def measure_delivery(self, docgate: Server) -> None:
        if not self.has_social("A post to many followers"):
            return
        say(f"Filling the news of {social.READERS:,} followers …")
        social.run(self.places, self.database, "readers", str(social.READERS))
        running = docgate.start(self.processes, self.database)
        token = servers.token(self.places, self.database, social.HERALD)
        count = social.FEW_POSTS if self.options.quick else social.POSTS
        # The first round isn't counted: connections are opened, and the server has the pages in memory.
        for number in range(self.options.rounds + 1):
            until_quiet([running.pid, self.database.pid])
            found = social.one_round(self.places, self.database, running, token, count, number)
            if number:
                self.results["delivery"] += found
                told = [f"{side} {digits(social.millis(found, side)[number])}" for side in social.SIDES]
                say(f"{social.READERS:,} followers, round {number}: {', '.join(told)} ms a post")
            self.save()
        self.processes.end(running.process)

    # Files

    def measure_transfers(self, docgate: Server) -> None:
        if not (self.places.rust / transfers.BINARY).is_file():
            self.results["remarks"].append(
                f"Files: not measured, the binary `{transfers.BINARY}` wasn't built."
            )
            return
        length = self.options.file << 20
        running = docgate.start(self.processes, self.database)
        token = servers.token(self.places, self.database, "editor", "editor")
        # What the first use of everything takes isn't the file's.
        transfers.http_up(running.address, token, 8 << 20)
        transfers.http_down(running.address, 8 << 20)
        for number in range(1, self.options.rounds + 1):
            found = transfers.one_round(self.places, self.database, running, token, length, number)
            self.results["transfers"] += found
            told = [
                f"{run['side']} {run['direction']} {digits(run['bytes'] / run['seconds'] / 2**20)}"
                for run in found
            ]
            most = max(transfers.growth(found))
            say(f"{self.options.file} MiB, round {number}: {', '.join(told)} MiB a second, {most:.0f} MiB more")
            self.save()
        self.processes.end(running.process)
        transfers.driver(self.places, self.database, "clear", "assets")

    def directly(self, node: str, name: str, number: int, write_concern: str) -> Dict[str, Any]:
        # The warm-up is in the same process: what the engine has compiled is gone with it.
        lengths = ["--seconds", str(self.options.seconds), "--warm-up", str(max(1, self.options.warm_up))]
        lengths += ["--in-flight", str(scenarios.in_flight(name)), "--write-concern", write_concern]
        lengths += ["--number", str(number)]
        told = scenarios.direct(node, self.places, self.database, "run", name, *lengths)
        if not told:
            raise Trouble(f"direct.js said nothing about {name}")
        return told


def until_quiet(pids: List[int]) -> None:
    """Waits, for a second at the most, until what was under way when the load ended is done."""
    for _ in range(10):
        before = sum(map(cpu_seconds, pids))
        time.sleep(0.1)
        if sum(map(cpu_seconds, pids)) - before <= 0.02:
            return


def order(names: Sequence[str], number: int) -> List[str]:
    """Rotated, and in every second round reversed."""
    at = number % len(names)
    turned = [*names[at:], *names[:at]]
    return turned[::-1] if number % 2 else turned


def differences(ours: Any, theirs: Any, path: str = "data") -> List[str]:
    """The first places in which two answers differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        found = [line for key in ours for line in differences(ours[key], theirs[key], f"{path}.{key}")]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs))
        found = [line for at, (one, other) in pairs for line in differences(one, other, f"{path}[{at}]")]
    else:
        shown = [json.dumps(value, ensure_ascii=False)[:300] for value in (ours, theirs)]
        found = [] if ours == theirs else [f"  {path}: {shown[0]} at docgate, {shown[1]} there"]
    return found[:5]


def machine() -> Dict[str, Any]:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    try:
        system = re.search(r'^PRETTY_NAME="(.*)"$', Path("/etc/os-release").read_text(), re.MULTILINE)
    except OSError:
        system = None
    kernel = ".".join(platform.release().split(".")[:2])
    return {
        "cpu": cpu.group(1).strip() if cpu else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memoryBytes": int(memory.group(1)) * 1024 if memory else 0,
        "system": f"{system.group(1) if system else 'Linux'}, kernel {kernel}",
    }
