"""The simulator's scenarios: as operations of docgate, and straight through the Node driver
(direct.js). Both have data of the same shape on the same mongod, each in a database of its own."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

import shop
from client import Address
from load import OP, Column, Request, graphql
from processes import Trouble
from servers import Database, Places, token
from works import TRANSFER, Flow, of

IN_FLIGHT = 50
#: The databases of the two sides.
DOCGATES, DIRECTS = "docgate_simulator", "docgate_direct"

WIDTH, DEPTH, PRODUCTS = 5, 5, 16_384
ITEMS, IN_STOCK = 1_000, 1_000_000
ACCOUNTS, BALANCE = 10_000, 100_000

#: By the names that direct.js knows, with what they are called in the report.
COMMANDS = {
    "category-children": "category children",
    "category-subtree": "category subtree",
    "products-of-category": "products of a category",
    "products-of-children": "products of the children",
    "products-of-subtree": "products of the subtree",
}
FLOWS = {
    "cart-with-reservation": "cart with reservation",
    "cart-without-reservation": "cart without reservation",
    "account-transfer": "account transfer",
}
TITLES = {**COMMANDS, **FLOWS}

CHILDREN = "query($path: String!) { categories(parentPath: $path) { nodes { id slug path name } } }"
SUBTREE = "query($path: String!) { categorySubtree(path: $path) { nodes { id slug path parentPath name } } }"
PRODUCTS_BY = """query($path: String!) {
  products(by: {category: {%s: $path}}) {
    nodes {
      sku title description categories { path }
      pricing { list { minorUnits currency } retail { minorUnits currency } }
    }
  }
}"""

WORDS = ["river", "lamp", "winter", "garden", "signal", "harbour", "velvet", "engine", "meadow", "copper"]


def tree() -> List[str]:
    """The paths of the tree, level by level."""
    paths: List[str] = []
    level = [""]
    for _ in range(DEPTH):
        below = []
        for parent in level:
            for _ in range(WIDTH):
                path = f"{parent}/category-{len(paths) + 1}"
                paths.append(path)
                below.append(path)
        level = below
    return paths


def product(number: int, path: str, draw: random.Random) -> Dict[str, Any]:
    """A line of an import; the document is of about 1 KB."""
    prose = " ".join(draw.choice(WORDS) for _ in range(90))
    return {
        "sku": f"product-{number:05}",
        "categories": [path],
        "pricing": {
            "list": draw.randrange(2_000, 3_000),
            "retail": draw.randrange(1_000, 2_000),
            "currency": "EUR",
        },
        "content": {
            "title": f"{draw.choice(WORDS)} {draw.choice(WORDS)} {number}",
            "description": prose[:500],
            "details": {"generic": {"type": "item", "properties": []}},
        },
    }


def fill(places: Places, database: Database, folder: Path) -> None:
    """Brings the simulator's data into docgate's database."""
    paths, draw = tree(), random.Random(1)
    categories = [{"path": path, "names": {"en": f"Category {at + 1}"}} for at, path in enumerate(paths)]
    products = [product(at, paths[at % len(paths)], draw) for at in range(PRODUCTS)]

    def docgate(*arguments: str) -> None:
        command = [str(places.docgate), *arguments]
        run = subprocess.run(
            command, env=database.environment(DOCGATES), capture_output=True, text=True, timeout=900
        )
        if run.returncode != 0:
            raise Trouble(f"docgate {' '.join(arguments)}: {run.stdout}{run.stderr}")

    docgate("indexes", "apply")
    for what, lines in (("categories", categories), ("products", products)):
        file = folder / f"{what}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        docgate("import", what, str(file))


@dataclass
class Side:
    """docgate's side: what its requests are made of."""

    token: str
    accounts: List[str]

    def request(self, name: str) -> Union[Request, Flow]:
        if name.startswith("cart-"):
            policy = "RESERVE" if name == "cart-with-reservation" else "AT_CHECKOUT"
            items = [f"product-{at:05}" for at in range(ITEMS)]
            return Flow("checkout", {"skus": items, "token": self.token, "policy": policy})
        if name == "account-transfer":
            drawn = [json.dumps({"from": one, "to": other})[1:-1] for one, other in shop.pairs(self.accounts)]
            return graphql(TRANSFER, ["{", 0, ',"op":"', OP, '"}'], [Column(drawn)], self.token)
        queries = {
            "category-children": CHILDREN,
            "category-subtree": SUBTREE,
            "products-of-category": PRODUCTS_BY % "exact",
            "products-of-children": PRODUCTS_BY % "children",
            "products-of-subtree": PRODUCTS_BY % "subtree",
        }
        return graphql(queries[name], [0], [Column([of({"path": path}) for path in tree()])])


def prepare(places: Places, database: Database, address: Address, accounts: int) -> Side:
    """What comes in through the gateway: stock and accounts."""
    owner = token(places, database, shop.SUBJECT)
    merchant, service = (token(places, database, "m", "merchant"), token(places, database, "s", "service"))
    shop.receive(address, [f"product-{at:05}" for at in range(ITEMS)], IN_STOCK, merchant)
    return Side(owner, shop.open_accounts(address, accounts, BALANCE, owner, service))


def direct(
    node: str, places: Places, database: Database, *arguments: str, seconds: float = 300
) -> Optional[Dict[str, Any]]:
    """Runs direct.js; what it says in its last line."""
    environment = database.environment(DIRECTS)
    command = [node, "direct.js", *arguments]
    run = subprocess.run(
        command, env=environment, cwd=places.peers, capture_output=True, text=True, timeout=seconds
    )
    if run.returncode != 0:
        raise Trouble(f"direct.js {' '.join(arguments)}: {run.stdout}{run.stderr}")
    lines = run.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else None
