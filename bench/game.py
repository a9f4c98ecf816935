"""The world of the game: an import makes it, and the requests are made of its keys."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Tuple

from client import Address, ask
from processes import Trouble
from servers import Places

#: Places, and characters at each: all of one player, who may have ten at a place.
PLACES, AT_EACH = 100, 10
#: Pieces in the one stack that lies at each place, and the gold of each character.
PIECES, GOLD = 1_000_000, 1_000_000_000
#: Pairs of characters at one place.
PAIRS = 20_000

PILE = "query($id: ID!) { place(id: $id) { things { id quantity } } }"


@dataclass
class World:
    """What there is in it, by keys as they are stored."""

    characters: List[str] = field(default_factory=lambda: ["none"])
    #: Two characters at one place.
    pairs: List[Tuple[str, str]] = field(default_factory=lambda: [("none", "none")])
    #: A character, its place, and the stack that lies there.
    reach: List[Tuple[str, str, str]] = field(default_factory=lambda: [("none", "none", "none")])


def stored(kind: str, key: str) -> str:
    """The `_id` of what was imported under this key."""
    digest = hashlib.sha256(f"imported {kind}\0{key}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")


def lines(owner: str) -> List[dict]:
    # The seed has a world of its own, whose keys are other ones.
    items = [
        {"key": "bench-arrow", "name": "arrow", "plural": "arrows", "price": 1, "isStackable": True},
        {"key": "bench-hat", "name": "wizard's hat", "price": 40, "slots": ["HEAD"]},
        {"key": "bench-bag", "name": "bag", "price": 8, "capacity": 10},
    ]
    found: List[dict] = [{"item": item} for item in items]
    for place in range(PLACES):
        things = [{"key": "pile", "item": "bench-arrow", "quantity": PIECES}]
        things += [{"key": f"hat-{at}", "item": "bench-hat", "bonus": 1 + at} for at in range(8)]
        text = "Whoever is here sees who else is, and what lies around."
        found.append({"place": {"key": f"p-{place}", "title": f"Place {place}", "description": text, "things": things}})
    for place in range(PLACES):
        exit_ = {"from": f"p-{place}", "direction": "NORTH", "to": f"p-{(place + 1) % PLACES}"}
        found.append({"exit": exit_})
    for number in range(PLACES * AT_EACH):
        own = [{"key": "bag", "item": "bench-bag"}, {"key": "hat", "item": "bench-hat", "inside": "bag"}]
        own += [{"key": "arrow", "item": "bench-arrow"}]
        character = {"key": f"c-{number}", "owner": owner, "name": f"Character {number}", "class": "wizard"}
        character.update(place=f"p-{number // AT_EACH}", gold=GOLD, things=own)
        found.append({"character": character})
    return found


def make(
    places: Places, environment: Dict[str, str], folder: Path, address: Address, owner: str, token: str
) -> World:
    file = folder / "world.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines(owner)))
    command = [str(places.docgate), "import", "world", str(file)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise Trouble(f"{' '.join(command)}: {run.stdout}{run.stderr}")
    characters = [stored("character", f"c-{number}") for number in range(PLACES * AT_EACH)]
    reach = []
    for place in range(PLACES):
        key = stored("place", f"p-{place}")
        things = ask(address, PILE, {"id": global_id("place", key)}, token)["place"]["things"]
        pile = next(thing["id"] for thing in things if thing["quantity"] > 1)
        there = characters[place * AT_EACH : (place + 1) * AT_EACH]
        reach += [(character, key, pile) for character in there]
    draw, pairs = random.Random(3), []
    for _ in range(PAIRS):
        first = draw.randrange(PLACES) * AT_EACH
        one, other = draw.sample(range(first, first + AT_EACH), 2)
        pairs.append((characters[one], characters[other]))
    return World(characters, pairs, reach)


def global_id(kind: str, key: str) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{key}".encode()).decode().rstrip("=")
