"""News and posts: what has to be there for them, and a post to many followers through docgate and by the driver."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Dict, List

from processes import Trouble, cpu_seconds
from results import median
from servers import Database, Places, Running

#: The binary that fills the database and posts.
BINARY = "social"
#: Whose news are read, and in a quick run; each follows 200 of 1,000 authors.
VIEWERS, FEW_VIEWERS = 500, 50
#: To whom a post is delivered, and who writes it, as the binary has it.
READERS = 2_000
HERALD = "bench-herald"
#: Posts of one round, and of a quick one.
POSTS, FEW_POSTS = 5, 2
SIDES = ["docgate", "driver"]


def is_built(places: Places) -> bool:
    return (places.rust / BINARY).is_file()


def viewers(count: int) -> List[str]:
    """Their subjects."""
    return [f"bench-viewer-{number:04}" for number in range(count)]


def run(places: Places, database: Database, *words: str, seconds: float = 900) -> Dict[str, Any]:
    """Runs the binary; what it says."""
    command = [str(places.rust / BINARY), *words]
    ran = subprocess.run(
        command, env=database.environment(), capture_output=True, text=True, timeout=seconds
    )
    if ran.returncode != 0:
        raise Trouble(f"{BINARY} {words[0]}: {ran.stderr.strip()[-500:]}")
    return json.loads(ran.stdout) if ran.stdout.strip() else {}


def one_round(
    places: Places, database: Database, docgate: Running, token: str, count: int, number: int
) -> List[Dict[str, Any]]:
    """As many posts on both sides, in an order that changes with the round. Afterwards both have the same feeds."""
    host, port = docgate.address
    words = {"docgate": ("post", f"{host}:{port}", token, str(count)), "driver": ("copy", str(count))}
    found = []
    for side in SIDES if number % 2 else SIDES[::-1]:
        pids = {"serverCpu": docgate.pid, "mongodCpu": database.pid}
        before = {key: cpu_seconds(pid) for key, pid in pids.items()}
        told = run(places, database, *words[side])
        docgate.process.must_run("while posts were delivered")
        used = {key: (cpu_seconds(pid) - before[key]) / count for key, pid in pids.items()}
        found.append({"round": number, "side": side, **told, **used})
    run(places, database, "same")
    return found


def millis(found: List[Dict[str, Any]], side: str, what: str = "millis") -> Dict[int, float]:
    """Milliseconds of a post in the middle, by round."""
    return {one["round"]: median(one[what]) for one in found if one["side"] == side}


def ratios(found: List[Dict[str, Any]]) -> List[float]:
    """How many times as long docgate takes, round by round."""
    ours, theirs = millis(found, "docgate"), millis(found, "driver")
    return [ours[at] / theirs[at] for at in sorted(ours) if at in theirs]


def cpu_millis(found: List[Dict[str, Any]], side: str, key: str) -> float:
    """CPU time of one post, of all rounds together, in milliseconds."""
    used = [one[key] for one in found if one["side"] == side]
    return sum(used) / len(used) * 1_000
