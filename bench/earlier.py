"""An earlier docgate as a peer (`--against`): what its schema called otherwise, and its data. Work whose operations
can't be mapped by these names isn't in `SAME` or fails in the warm-up; `skipped` says why."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple, Union

from load import Request
from processes import Trouble
from servers import Database, Places, known_earlier
from works import Flow

#: What today's operations call it, and what the earlier schema (c89a81c) does. All texts are of
#: queries that stand in JSON, so none has a quote or a line break.
RENAMED: List[Tuple[str, str]] = [
    ("idempotencyKey:", "opId:"),
    ("subjectId:", "on:"),
    ("categoryId:", "category:"),
    ("payment: {accountId:", "payment: {account:"),
    ("author { id name }", "author"),
]
#: Work of which the answers are the same too; another's differ in names or in cursors.
SAME = ["product", "children"]
#: What it can't do.
SKIPPED = {
    "jobs": "it has no work queue",
    "jobs-many": "it has no work queue",
    "news": "it has no feeds",
    "list": "it has no pictures",
    "suggest": "it has no suggestions",
    "suggestAll": "it has no suggestions",
    "facets": "it has no facets",
    "choose": "it has no ads",
    "character": "it has no game",
    "giveGold": "it has no game",
    "pickUp": "it has no game",
}
#: The databases of the earlier docgate: copies of today's, with its own indexes.
SUFFIX = "_earlier"


def text(query: str) -> str:
    for now, then in RENAMED:
        query = query.replace(now, then)
    return query


def asked(given: Union[Request, Flow]) -> Union[Request, Flow]:
    """The same in the words of the earlier schema."""
    if isinstance(given, Flow):
        return Flow(given.kind, {**given.lists, "renamed": RENAMED})
    body = [text(piece) if isinstance(piece, str) else piece for piece in given.body]
    return dataclasses.replace(given, body=body)


def copy(places: Places, database: Database, binary: Path, name: str) -> str:
    """Copies docgate's database of that name; the name of the copy."""
    target = name + SUFFIX
    environment = database.environment(name)
    for command, of in (
        ([str(places.rust / "copy"), target], environment),
        ([str(binary), "indexes", "apply"], known_earlier(database.environment(target))),
    ):
        run = subprocess.run(command, env=of, capture_output=True, text=True, timeout=600)
        if run.returncode != 0:
            raise Trouble(f"{' '.join(command)}: {run.stdout}{run.stderr}")
    return target


def remarks(names: Dict[str, str], done: List[str]) -> List[str]:
    """A line for each work that was done but not by the earlier docgate."""
    return [
        f"{names.get(name, name)}: not measured with the earlier docgate, {why}."
        for name, why in SKIPPED.items()
        if name in done
    ]
