"""What a results.json holds: medians, spreads, and ratios of rounds."""

from __future__ import annotations

import statistics
from typing import Any, Dict, List, Optional, Sequence

from servers import NODE_PEERS

Results = Dict[str, Any]
#: Connections of the targets and of the chart.
MAIN = 64


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def digits(value: float) -> str:
    """Three digits or more."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values: Sequence[float]) -> str:
    """Median, and the lowest and highest where there are several."""
    middle = f"**{digits(median(values))}**"
    return middle if len(values) < 2 else f"{middle} ({digits(min(values))}–{digits(max(values))})"


def counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('s') else 's'}"


def mebibytes(size: float) -> str:
    return f"{size / 2**20:.0f} MiB"


class Found:
    """The numbers of a results.json."""

    def __init__(self, results: Results):
        self.results = results

    def runs(self, work: str, connections: int, server: str) -> List[Dict[str, Any]]:
        wanted = (work, connections, server)
        return [
            run for run in self.results["runs"] if (run["work"], run["connections"], run["server"]) == wanted
        ]

    def rates(self, work: str, connections: int, server: str) -> Dict[int, float]:
        """Requests a second, by round."""
        return {run["round"]: run["done"] / run["seconds"] for run in self.runs(work, connections, server)}

    def ratios(self, work: str, connections: int, one: str, other: str) -> List[float]:
        """How many times as fast the one is, round by round."""
        return quotients(self.rates(work, connections, one), self.rates(work, connections, other))

    def fastest_node_peer(self, work: str, connections: int) -> Optional[str]:
        rates = {name: list(self.rates(work, connections, name).values()) for name in NODE_PEERS}
        measured = {name: median(values) for name, values in rates.items() if values}
        return max(measured, key=lambda name: measured[name]) if measured else None

    def scenario_rates(self, scenario: str, side: str) -> Dict[int, float]:
        return {run["round"]: run["done"] / run["seconds"] for run in self.scenario_runs(scenario, side)}

    def scenario_runs(self, scenario: str, side: str) -> List[Dict[str, Any]]:
        return [
            run for run in self.results["scenarios"] if (run["scenario"], run["side"]) == (scenario, side)
        ]

    def scenario_ratios(self, scenario: str, side: str = "direct") -> List[float]:
        return quotients(self.scenario_rates(scenario, "docgate"), self.scenario_rates(scenario, side))

    def most_resident(self, server: str, connections: int) -> Optional[int]:
        sizes = [
            run["residentBytes"]
            for run in self.results["runs"]
            if (run["server"], run["connections"]) == (server, connections)
        ]
        return max(sizes) if sizes else None


def cpu_each(runs: List[Dict[str, Any]]) -> float:
    """CPU seconds of the server and of mongod for one op, of all rounds together."""
    done = sum(run["done"] for run in runs)
    return sum(run["serverCpu"] + run["mongodCpu"] for run in runs) / max(1, done)


def quotients(ones: Dict[int, float], others: Dict[int, float]) -> List[float]:
    return [ones[at] / others[at] for at in sorted(ones) if others.get(at)]
