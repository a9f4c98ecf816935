"""The targets, and how far they are reached."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

import growth
import social
import transfers
from results import MAIN, Found, cpu_each, digits, mebibytes, median, quotients, spread
from scenarios import CARTS, COMMANDS
from scenarios import TITLES as SCENARIOS
from servers import APART, ASSURED, BARE, BY_KEY, DOCGATE, EARLIER, MEMORY, PLAIN, TITLES, TRANSACTIONS
from works import READS

#: A number to be compared, and how it is shown; nothing where it wasn't measured.
Measured = Tuple[Optional[float], str]


def _ratio(work: str, connections: int, one: str, other: str) -> Callable[[Found], Measured]:
    def measured(found: Found) -> Measured:
        ratios = found.ratios(work, connections, one, other)
        return (median(ratios), spread(ratios)) if ratios else (None, "")

    return measured


def _against_node(found: Found) -> Measured:
    peer = found.fastest_node_peer("product", MAIN)
    ratios = found.ratios("product", MAIN, DOCGATE, peer) if peer else []
    return (median(ratios), f"{spread(ratios)}, {TITLES[str(peer)]}") if ratios else (None, "")


def _lowest(scenarios: Sequence[str]) -> Callable[[Found], Measured]:
    def measured(found: Found) -> Measured:
        ratios = {name: found.scenario_ratios(name) for name in scenarios}
        medians = {name: median(values) for name, values in ratios.items() if values}
        if not medians:
            return None, ""
        name = min(medians, key=lambda name: medians[name])
        return medians[name], f"{spread(ratios[name])}, lowest of {len(medians)}: {SCENARIOS[name]}"

    return measured


def _reads_before(found: Found) -> Measured:
    """Of all reads at all numbers of connections, that which lost most."""
    ratios = {
        f"{title} at {connections}": found.ratios(work, connections, DOCGATE, EARLIER)
        for work, title in READS.items()
        for connections in found.results["settings"]["connections"]
    }
    ratios.update({SCENARIOS[name]: found.scenario_ratios(name, EARLIER) for name in COMMANDS})
    ratios = {name: values for name, values in ratios.items() if values}
    if not ratios:
        return None, ""
    name = min(ratios, key=lambda name: median(ratios[name]))
    return median(ratios[name]), f"{spread(ratios[name])}, lowest of {len(ratios)}: {name}"


def _reads_cpu_before(found: Found) -> Measured:
    """Likewise of the CPU time, which other processes of the machine disturb less: the highest."""
    sides = {
        f"{title} at {connections}": [found.runs(work, connections, who) for who in (DOCGATE, EARLIER)]
        for work, title in READS.items()
        for connections in found.results["settings"]["connections"]
    }
    sides.update(
        {SCENARIOS[name]: [found.scenario_runs(name, who) for who in ("docgate", EARLIER)] for name in COMMANDS}
    )
    ratios = {
        name: cpu_each(now) / cpu_each(before) for name, (now, before) in sides.items() if now and before
    }
    if not ratios:
        return None, ""
    name = max(ratios, key=lambda name: ratios[name])
    middle = median(list(ratios.values()))
    return ratios[name], f"**{digits(ratios[name])}**, highest of {len(ratios)}: {name}; in the middle {digits(middle)}"


def _finished_jobs(found: Found) -> Measured:
    """Time of an op beside many finished jobs to that beside few, round by round."""
    few, many = (found.scenario_rates(name, "docgate") for name in ("jobs", "jobs-many"))
    ratios = quotients(few, many)
    return (median(ratios), spread(ratios)) if ratios else (None, "")


def _resident(idle: bool) -> Callable[[Found], Measured]:
    def measured(found: Found) -> Measured:
        size = (
            found.results["servers"].get(DOCGATE, {}).get("idleBytes")
            if idle
            else found.most_resident(DOCGATE, 256)
        )
        return (size / 2**20, f"**{mebibytes(size)}**") if size else (None, "")

    return measured


def _looked_at(found: Found) -> Measured:
    reads = [read for read in found.results.get("growth", []) if read["oneRange"]]
    if not reads:
        return None, ""
    kept = sum(growth.keeps_bounds(read) for read in reads)
    return kept / len(reads), f"**{kept} of {len(reads)}**"


def _growth(found: Found) -> Measured:
    reads = [read for read in found.results.get("growth", []) if read["oneRange"]]
    ratios = {
        read["read"]: [many / few for few, many in zip(*read["millis"])] for read in reads
    }
    if not ratios:
        return None, ""
    name = max(ratios, key=lambda name: median(ratios[name]))
    return median(ratios[name]), f"{spread(ratios[name])}, highest of {len(reads)}: {name}"


def _transfer(direction: str) -> Callable[[Found], Measured]:
    def measured(found: Found) -> Measured:
        ratios = transfers.ratios(found.results.get("transfers", []), direction)
        return (median(ratios), spread(ratios)) if ratios else (None, "")

    return measured


def _transfer_memory(found: Found) -> Measured:
    grown = transfers.growth(found.results.get("transfers", []))
    return (max(grown), f"**{max(grown):.0f} MiB**") if grown else (None, "")


def _commands(work: str, collection: str = "", figure: str = "") -> Callable[[Found], Measured]:
    """How many commands a request sends, or a figure of those to one collection."""

    def measured(found: Found) -> Measured:
        told = next((one for one in found.results["works"] if one["name"] == work), {}).get("commands")
        if told is None:
            return None, ""
        chosen = [command for command in told if collection in ("", command["collection"])]
        number = sum(command[figure] for command in chosen) if figure else len(chosen)
        return number, f"**{number}**"

    return measured


def _delivery(found: Found) -> Measured:
    ratios = social.ratios(found.results.get("delivery", []))
    return (median(ratios), spread(ratios)) if ratios else (None, "")


def _ready(found: Found) -> Measured:
    times = found.results["servers"].get(DOCGATE, {}).get("readyMillis")
    return (median(times), f"{spread(times)} ms") if times else (None, "")


#: What, how it was measured, floor, goal, unit, and whether more is better.
TARGETS: List[Tuple[str, Callable[[Found], Measured], Optional[float], float, str, bool]] = [
    (
        "product by key, docgate : bare axum + driver",
        _ratio("product", MAIN, DOCGATE, BARE),
        2.5,
        4,
        "",
        True,
    ),
    ("product by key, docgate : fastest Node peer", _against_node, 8, 12, "", True),
    (
        "product by key, docgate : its own schema answered from memory",
        _ratio("product", MAIN, DOCGATE, MEMORY),
        0.45,
        0.65,
        "",
        True,
    ),
    (
        "product by key at 1 connection, docgate : bare axum + driver",
        _ratio("product", 1, DOCGATE, BARE),
        0.85,
        0.95,
        "",
        True,
    ),
    (
        "add a hit, docgate without coalescing : bare axum + driver",
        _ratio("hit", MAIN, APART, BARE),
        0.9,
        1.0,
        "",
        True,
    ),
    (
        "add a hit, docgate : bare axum + driver",
        _ratio("hit", MAIN, DOCGATE, BARE),
        3,
        5,
        "",
        True,
    ),
    (
        "serve an ad, docgate : bare axum + driver",
        _ratio("ads", MAIN, DOCGATE, BARE),
        2,
        3,
        "",
        True,
    ),
    (
        "a character of the game : product by key",
        _ratio("character", MAIN, DOCGATE, BY_KEY),
        0.6,
        0.8,
        "",
        True,
    ),
    (
        "an ad that is only chosen, of a hundred : product by key",
        _ratio("choose", MAIN, DOCGATE, BY_KEY),
        0.4,
        0.4,
        "",
        True,
    ),
    (
        "list of 20 with pictures, availability and contributors : the list without them",
        _ratio("list", MAIN, DOCGATE, PLAIN),
        0.7,
        0.7,
        "",
        True,
    ),
    ("likewise, its commands", _commands("list"), 3, 3, "", False),
    *(
        (f"suggestions of {what} : product by key", _ratio(work, MAIN, DOCGATE, BY_KEY), 0.7, 0.7, "", True)
        for what, work in [("products", "suggest"), ("products and people", "suggestAll")]
    ),
    (
        "documents that facets of a category are read from",
        _commands("facets", "categoryFacets", "docsExamined"),
        1,
        1,
        "",
        False,
    ),
    *(
        (f"{what} : {title}", _ratio(work, MAIN, DOCGATE, peer), floor, 2.0, "", True)
        for what, work in [("give gold", "giveGold"), ("pick up", "pickUp")]
        for title, peer, floor in [
            ("transaction with the same guarantees", ASSURED, 1.2),
            ("bare transaction", TRANSACTIONS, None),
        ]
    ),
    (
        "scenarios of one command, docgate : Node driver directly, each",
        _lowest(list(COMMANDS)),
        1.0,
        2.0,
        "",
        True,
    ),
    (
        "carts with and without reservation, docgate : Node driver directly, each",
        _lowest(CARTS),
        1.8,
        3,
        "",
        True,
    ),
    (
        "account transfer, docgate : Node driver directly",
        _lowest(["account-transfer"]),
        0.7,
        1.0,
        "",
        True,
    ),
    ("a comment : one plain `$push`", _lowest(["slice-cache"]), 1.0, 1.5, "", True),
    (
        "add, remove a language, docgate : Node driver directly, each",
        _lowest(["add-language", "remove-language"]),
        0.8,
        1.2,
        "",
        True,
    ),
    (
        "add to cart, docgate : bare axum + driver (one update)",
        _ratio("cart", MAIN, DOCGATE, BARE),
        0.8,
        1.2,
        "",
        True,
    ),
    *(
        (
            f"{what}{'' if connections == MAIN else ' at 1 connection'} : {peer}",
            _ratio(work, connections, DOCGATE, server),
            floor,
            goal,
            "",
            True,
        )
        for what, work, connections, peer, server, floor, goal in [
            ("whole checkout", "checkout", MAIN, "bare transaction", TRANSACTIONS, 1.0, 1.8),
            ("whole checkout", "checkout", MAIN, "transaction with the same guarantees", ASSURED, 1.5, 3),
            ("whole checkout, paid", "paid", MAIN, "transaction with the same guarantees", ASSURED, None, 1.5),
            ("transfer", "transfer", MAIN, "bare transaction", TRANSACTIONS, 1.8, 2.5),
            ("transfer", "transfer", MAIN, "transaction with the same guarantees", ASSURED, None, 2.5),
            ("whole checkout", "checkout", 1, "bare transaction", TRANSACTIONS, 0.4, 0.7),
            ("whole checkout", "checkout", 1, "transaction with the same guarantees", ASSURED, None, 0.7),
            ("transfer", "transfer", 1, "bare transaction", TRANSACTIONS, 0.4, 1.0),
            ("transfer", "transfer", 1, "transaction with the same guarantees", ASSURED, None, 1.0),
            ("one hot SKU, checkouts", "hot", MAIN, "docgate as it was", EARLIER, 15, 50),
        ]
    ),
    *(
        (
            f"news page of 20 posts{'' if connections == MAIN else ' at 1 connection'}, docgate : {peer}",
            _ratio("news", connections, DOCGATE, server),
            floor,
            goal,
            "",
            True,
        )
        for connections in (MAIN, 1)
        for peer, server, floor, goal in [
            ("its own product by key", BY_KEY, 0.5, 0.7),
            ("bare axum + driver that joins when it reads", BARE, 5, 8),
        ]
    ),
    (
        f"a post to {social.READERS:,} followers, time of docgate : of the driver's writes alone",
        _delivery,
        1.5,
        1.2,
        "",
        False,
    ),
    ("every read, docgate : docgate as it was, each", _reads_before, 0.95, 1.0, "", True),
    ("likewise, CPU time of docgate and mongod", _reads_cpu_before, 1.05, 1.0, "", False),
    (
        "enqueue, claim, complete at 16 workers, docgate : Node driver directly",
        _lowest(["jobs"]),
        2,
        4,
        "",
        True,
    ),
    ("likewise, time with many finished jobs : with few", _finished_jobs, 1.2, 1.1, "", False),
    ("reads of one index range that look at nothing else", _looked_at, 1, 1, "", True),
    ("likewise, their time with many documents : with few, each", _growth, 1.2, 1.2, "", False),
    ("resident memory, idle", _resident(True), 60, 40, " MiB", False),
    ("resident memory under 256 connections, at the most", _resident(False), 150, 120, " MiB", False),
    ("a large file up, docgate : the driver's GridFS stream", _transfer("up"), 0.8, 1.0, "", True),
    ("a large file down, docgate : the driver's GridFS stream", _transfer("down"), 0.8, 1.0, "", True),
    ("memory that such a file takes, at the most", _transfer_memory, 64, 16, " MiB", False),
    ("from start to ready, MongoDB being there", _ready, 500, 300, " ms", False),
]


def table(found: Found) -> List[str]:
    lines = ["| | measured | floor | goal | |", "|---|---|---|---|---|"]
    for what, measure, floor, goal, unit, more in TARGETS:
        value, shown = measure(found)
        limits = f"{'reported' if floor is None else f'{floor:g}{unit}'} | {goal:g}{unit}"
        lines.append(
            f"| {what} | {shown or 'not measured'} | {limits} | {verdict(value, floor, goal, more)} |"
        )
    return lines


def verdict(value: Optional[float], floor: Optional[float], goal: float, more: bool) -> str:
    if value is None:
        return "–"
    missed = "below" if more else "above"

    def reaches(limit: float) -> bool:
        return value >= limit if more else value <= limit

    if reaches(goal):
        return "goal reached"
    if floor is None:
        return f"{missed} the goal"
    return "floor kept" if reaches(floor) else f"**{missed} the floor**"
