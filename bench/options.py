"""The command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Dict, List, Optional

import scenarios
import servers
import works
from servers import DOCGATE

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = ROOT / "target"
STAGES = ["start", *works.NAMES, "scenarios", "growth", "delivery", "assets"]

DESCRIPTION = """docgate's benchmark: starts a mongod with a filled shop, docgate and its peers on the same
documents, drives each in turn with the same load, and writes RESULTS.md, results.svg and results.json.

Needs Linux, Python 3.9, wrk and Rust; Node 20 or later for the Node peers, which are passed over
without it. Everything runs on this machine and listens on loopback only. Ctrl-C ends all of it.

  bench/run.py                              all of it, about 65 minutes
  bench/run.py --quick                      one short round of everything, into target/bench
  bench/run.py --only product --only cart   some of the work, into target/bench
  bench/run.py --only assets --servers docgate --products 50
                                            a file of 1 GiB up and down, into target/bench
  bench/run.py --only list,suggest,suggestAll,facets,ads,choose --servers docgate,apart,by-key,plain
                                            lists and suggestions beside plainer reads, into target/bench
  bench/run.py --only news,delivery         the news, and a post to 2,000 followers, into target/bench
  bench/run.py --against PATH               beside an earlier docgate: what has become slower?
  bench/run.py --report-only                the report again, from results.json
"""


def numbers(text: str) -> List[int]:
    return [int(number) for number in text.split(",")]


def names(text: str) -> List[str]:
    return text.split(",")


def arguments() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=DESCRIPTION, formatter_class=plain)

    def number(group: Any, name: str, default: int, what: str) -> None:
        group.add_argument(name, type=int, default=default, metavar="N", help=f"{what} ({default})")

    def place(group: Any, name: str, default: Optional[Path], what: str, metavar: str = "FOLDER") -> None:
        group.add_argument(name, type=Path, default=default, metavar=metavar, help=what)

    def flag(group: Any, name: str, what: str) -> None:
        group.add_argument(name, action="store_true", help=what)

    group = parser.add_argument_group("measuring")
    number(group, "--rounds", 5, "rounds of every measurement")
    number(group, "--seconds", 4, "length of one run")
    number(group, "--warm-up", 1, "seconds of each server before its first round")
    number(group, "--starts", 5, "starts of each server that are timed")
    what = "connections at a time (1,64,256)"
    group.add_argument("--connections", type=numbers, default=[1, 64, 256], metavar="N,…", help=what)
    what = "only this, may be repeated: " + ", ".join(STAGES)
    group.add_argument("--only", type=names, action="append", metavar="NAME", help=what)
    what = "only these scenarios: " + ", ".join(scenarios.TITLES)
    group.add_argument("--scenarios", type=names, default=list(scenarios.TITLES), metavar="NAME,…", help=what)
    what = "only these: " + ", ".join(servers.ALL)
    group.add_argument("--servers", type=names, default=servers.ALL, metavar="NAME,…", help=what)
    flag(group, "--quick", "one round of one second each, with less data: to see whether everything works")

    group = parser.add_argument_group("data")
    number(group, "--products", 5_000, "products of the shop")
    number(group, "--accounts", 2_000, "accounts that pay and transfer")
    number(group, "--carts", 2_000, "fresh carts of one run")
    number(group, "--grown", 1_000_000, "documents of each kind where there are many")
    number(group, "--file", 1_024, "MiB of the file that goes up and down")
    place(group, "--data", TARGET / "bench-data", "folder of the database (target/bench-data)")
    flag(group, "--keep-data", "go on with the shop of the run before, instead of a fresh one")

    group = parser.add_argument_group("load")
    number(group, "--threads", 1, "threads of wrk")
    number(group, "--client-processes", 1, "processes that drive whole checkouts")

    group = parser.add_argument_group("binaries")
    flag(group, "--no-build", "take the binaries that are there")
    binary = TARGET / "dist" / "docgate"
    place(group, "--docgate", binary, "binary of docgate (target/dist/docgate)", "PATH")
    what = "binary of an earlier docgate (c89a81c), which is measured beside this one"
    place(group, "--against", None, what, "PATH")
    what = "what it was built from, for the report"
    group.add_argument("--against-commit", default="", metavar="TEXT", help=what)
    place(group, "--rust", None, "folder of the Rust peers' binaries (docgate's)")
    place(group, "--peers", HERE / "peers", "folder of the Node peers (bench/peers)")

    group = parser.add_argument_group("report")
    what = "what a reader of the report has to know of this run, may be repeated"
    group.add_argument("--remark", action="append", default=[], metavar="TEXT", help=what)
    place(group, "--out", None, "where the report goes (bench; target/bench unless all is measured)")
    flag(group, "--report-only", "measure nothing; make the report again, from results.json")
    return checked(parser, parser.parse_args())


def checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    """The options with what follows from them."""
    options.only = [name for group in options.only or [STAGES] for name in group]
    for given, known, what in (
        (options.only, STAGES, "--only"),
        (options.servers, servers.ALL, "--servers"),
        (options.scenarios, list(scenarios.TITLES), "--scenarios"),
    ):
        unknown = sorted(set(given) - set(known))
        if unknown:
            parser.error(f"{what}: there is no {', '.join(unknown)}; there are {', '.join(known)}")
    if DOCGATE not in options.servers:
        parser.error("--servers: docgate itself is needed, the others are compared with it")
    whole = is_whole(options.only, options.servers) and not options.quick
    if options.quick:
        options.rounds, options.seconds, options.starts = 1, 1, 1
        options.products, options.accounts, options.carts = 500, 200, 200
        options.grown = 20_000
        options.file = 32
    options.out = options.out or (HERE if whole or options.report_only else TARGET / "bench")
    options.rust = options.rust or options.docgate.parent
    return options


def is_whole(only: List[str], wanted: List[str]) -> bool:
    """Whether everything was asked for."""
    return set(only) == set(STAGES) and set(wanted) == set(servers.ALL)


#: What a report tells of the options: none of the paths.
TOLD = [
    *("rounds", "seconds", "warm_up", "connections", "starts", "products", "accounts", "carts", "grown", "file"),
    *("threads", "client_processes", "quick", "only", "servers"),
]


def settings(options: argparse.Namespace) -> Dict[str, Any]:
    """What the run was asked for."""
    return {**{key: getattr(options, key) for key in TOLD}, "against": options.against is not None}


def command(given: Dict[str, Any]) -> str:
    """The command line of those settings."""
    words = ["bench/run.py"]
    words += ["--quick"] if given["quick"] else [f"--rounds {given['rounds']} --seconds {given['seconds']}"]
    words.append("--connections " + ",".join(map(str, given["connections"])))
    words += ["--against PATH"] if given.get("against") else []
    if not is_whole(given["only"], given["servers"]):
        words += ["--only " + ",".join(given["only"]), "--servers " + ",".join(given["servers"])]
    return " ".join(words)
