"""The targets, and how far they are reached."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

import growth
import transfers
from results import MAIN, Found, mebibytes, median, spread
from scenarios import COMMANDS, COPIES, FLOWS
from scenarios import TITLES as SCENARIOS
from servers import APART, BARE, DOCGATE, MEMORY, TITLES, TRANSACTIONS

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
        "scenarios of one command, docgate : Node driver directly, each",
        _lowest(list(COMMANDS)),
        1.0,
        2.0,
        "",
        True,
    ),
    (
        "flows (cart, transfer), docgate : Node driver directly, each",
        _lowest(list(FLOWS)),
        0.7,
        1.0,
        "",
        True,
    ),
    (
        "a comment, a language: several commands here for one or two there, each",
        _lowest(list(COPIES)),
        None,
        1.0,
        "",
        True,
    ),
    (
        "whole checkout, our flow : a MongoDB transaction",
        _ratio("checkout", MAIN, DOCGATE, TRANSACTIONS),
        None,
        1.2,
        "",
        True,
    ),
    (
        "transfer, our flow : a MongoDB transaction",
        _ratio("transfer", MAIN, DOCGATE, TRANSACTIONS),
        None,
        1.2,
        "",
        True,
    ),
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
