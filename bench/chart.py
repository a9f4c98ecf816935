"""The chart: one panel per work with a bar per server, as SVG."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, Tuple

from results import MAIN, Found, digits, median
from servers import (
    ALL,
    APART,
    ASSURED,
    BARE,
    BY_KEY,
    DOCGATE,
    EARLIER,
    LIBRARY,
    MEMORY,
    NODE_PEERS,
    PLAIN,
    TITLES,
    TRANSACTIONS,
)

#: Colours that people with colour blindness can tell apart (after Okabe and Ito).
COLOURS = {
    DOCGATE: "#0072B2",
    APART: "#CC79A7",
    BY_KEY: "#B8A6D9",
    PLAIN: "#9DB4A6",
    MEMORY: "#56B4E9",
    BARE: "#8A8A8A",
    TRANSACTIONS: "#009E73",
    ASSURED: "#006B4F",
    EARLIER: "#7FB2D9",
}
NODE_COLOUR = "#E69F00"
LIBRARY_COLOUR = "#D55E00"
SHORT = {
    **TITLES,
    APART: "each by itself",
    BY_KEY: "product by key",
    PLAIN: "the list without them",
    MEMORY: "schema from memory",
    BARE: "axum + driver",
    "library": "a loader per request",
    "library-process": "one loader",
    "library-undelayed": "one, without delay",
    "library-direct": "no loader",
    TRANSACTIONS: "transaction",
    ASSURED: "same guarantees",
    EARLIER: "docgate as it was",
}

WIDTH, COLUMNS, GAP, MARGIN = 1040, 2, 48, 32
NAMES, VALUES = 150, 66
BAR, STEP, HEAD = 16, 24, 34
TOP, BOTTOM = 96, 56
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


def draw(results: Dict[str, Any]) -> str:
    found = Found(results)
    measured = results["settings"]["connections"]
    connections = MAIN if MAIN in measured else measured[-1]
    panels = []
    for work in results["works"]:
        bars = [(server, list(found.rates(work["name"], connections, server).values())) for server in ALL]
        bars = [(server, rates) for server, rates in bars if rates]
        if bars:
            panels.append((work["title"], bars))
    return page(panels, connections, results["settings"]["rounds"])


Bars = List[Tuple[str, List[float]]]


def page(panels: List[Tuple[str, Bars]], connections: int, rounds: int) -> str:
    width = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
    parts: List[str] = []
    heights = [TOP] * COLUMNS
    for title, bars in panels:
        column = heights.index(min(heights))
        parts.append(panel(title, bars, MARGIN + column * (width + GAP), heights[column], width))
        heights[column] += HEAD + STEP * len(bars) + 26
    height = max(heights) + BOTTOM
    below = (
        f"Median of {rounds} rounds; the line goes from the lowest to the highest. "
        if rounds > 1
        else "One round. "
    )
    below += "Each panel has a scale of its own. Longer is better."
    shown = {server for _, bars in panels for server, _ in bars}
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}"',
            f'  width="{WIDTH}" height="{height:.0f}" font-family="{FONT}">',
            "<title>Throughput of docgate and its peers</title>",
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
            text(
                MARGIN,
                38,
                f"Done per second at {connections} connection{'s' if connections > 1 else ''}",
                20,
                "#1a1a1a",
                weight=600,
            ),
            legend(shown, 62),
            *parts,
            text(MARGIN, height - 22, below, 12, "#555555"),
            "</svg>",
            "",
        ]
    )


def panel(title: str, bars: Bars, left: float, top: float, width: float) -> str:
    """A title, and a bar per server with its name before and its value behind."""
    most = max(max(rates) for _, rates in bars)
    scale = (width - NAMES - VALUES) / most
    base = left + NAMES
    parts = [text(left, top + 18, title, 15, "#1a1a1a", weight=600)]
    for place, (server, rates) in enumerate(bars):
        y = top + HEAD + place * STEP
        middle, centre = median(rates), y + BAR / 2
        length = max(middle * scale, 1)
        weight = 600 if server == DOCGATE else 400
        parts.append(text(base - 8, centre + 4, SHORT[server], 12, "#333333", "end", weight))
        parts.append(
            f'<rect x="{base:.1f}" y="{y:.1f}" width="{length:.1f}" height="{BAR}" rx="2"'
            f' fill="{colour(server)}"/>'
        )
        end = base + length
        if len(rates) > 1:
            low, high = base + min(rates) * scale, base + max(rates) * scale
            parts.append(whisker(low, high, centre))
            end = max(end, high)
        parts.append(text(end + 6, centre + 4, digits(middle), 12, "#1a1a1a", weight=weight))
    bottom = top + HEAD + len(bars) * STEP - (STEP - BAR) + 4
    parts.append(f'<path d="M{base:.1f} {top + HEAD - 4:.1f}V{bottom:.1f}" stroke="#999999" fill="none"/>')
    return "\n".join(parts)


def whisker(low: float, high: float, y: float) -> str:
    ends = f"M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8"
    return f'<path d="M{low:.1f} {y:.1f}H{high:.1f}{ends}" stroke="#1a1a1a" stroke-width="1.2" fill="none"/>'


def colour(server: str) -> str:
    return LIBRARY_COLOUR if server in LIBRARY else COLOURS.get(server, NODE_COLOUR)


def legend(shown: "set[str]", y: float) -> str:
    entries = [(COLOURS[DOCGATE], "docgate")]
    entries += [(LIBRARY_COLOUR, "async-graphql, DataLoader")] if shown & set(LIBRARY) else []
    entries += [(NODE_COLOUR, "GraphQL servers on Node")] if shown & set(NODE_PEERS) else []
    rust = {
        MEMORY: "docgate's schema without a database",
        APART: "docgate, each by itself",
        BY_KEY: "docgate, another read",
        PLAIN: "docgate, a plainer list",
        BARE: "bare endpoint, no GraphQL",
        TRANSACTIONS: "MongoDB transaction",
        ASSURED: "the same with docgate's guarantees",
        EARLIER: "an earlier docgate",
    }
    entries += [(COLOURS[server], what) for server, what in rust.items() if server in shown]
    parts, x = [], float(MARGIN)
    for fill, what in entries:
        width = 18 + 6.4 * len(what)
        if x + width > WIDTH - MARGIN:
            x, y = float(MARGIN), y + 18
        parts.append(f'<rect x="{x:.0f}" y="{y - 10:.0f}" width="12" height="12" rx="2" fill="{fill}"/>')
        parts.append(text(x + 18, y, what, 12, "#333333"))
        x += width + 22
    return "\n".join(parts)


def text(
    x: float, y: float, what: str, size: int, fill: str, anchor: str = "start", weight: int = 400
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" font-weight="{weight}" fill="{fill}">{escape(what)}</text>'
