"""The simulator's scenarios: as operations of docgate, and straight through the Node driver
(direct.js). Both have data of the same shape on the same mongod, each in a database of its own."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

import shop
from client import Address, ask, bearer, encoded, send_all
from load import OP, Column, Request, graphql
from processes import Trouble
from servers import Database, Places, token
from works import TRANSFER, Flow, of

IN_FLIGHT = 50
#: Workers of the queue.
WORKERS = 16
#: The databases of the two sides.
DOCGATES, DIRECTS = "docgate_simulator", "docgate_direct"

WIDTH, DEPTH, PRODUCTS = 5, 5, 16_384
ITEMS, IN_STOCK = 1_000, 1_000_000
ACCOUNTS, BALANCE = 10_000, 100_000
DISCUSSED, ASSETS = 1_000, 100
#: Categories to which languages are added and products of each; likewise those from which they are removed.
GROWING, SHRINKING = (256, 8), (10_000, 1)
#: Languages that a category has at the most, and that one run can take from it.
LANGUAGES, REMOVED = 100, 2

#: By the names that direct.js knows, with what they are called in the report.
COMMANDS = {
    "category-children": "category children",
    "category-subtree": "category subtree",
    "products-of-category": "products of a category",
    "products-of-children": "products of the children",
    "products-of-subtree": "products of the subtree",
    "metadata": "metadata, two pairs",
}
FLOWS = {
    "cart-with-reservation": "cart with reservation",
    "cart-without-reservation": "cart without reservation",
    "account-transfer": "account transfer",
}
#: Of one or two commands there, and of several here: what is changed stands in more than one document.
COPIES = {
    "slice-cache": "slice cache (a whole comment here)",
    "add-language": "add a language",
    "remove-language": "remove a language",
}
QUEUE = {
    "jobs": "enqueue, claim, complete",
    "jobs-many": "the same beside many finished jobs",
}
TITLES = {**COMMANDS, **FLOWS, **COPIES, **QUEUE}
CARTS = ["cart-with-reservation", "cart-without-reservation"]


def in_flight(name: str) -> int:
    """How many ops of the scenario are under way at a time."""
    return WORKERS if name in QUEUE else IN_FLIGHT


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
BELOW = """query($path: String!, $after: String) {
  categories(parentPath: $path, first: 100, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } }
}"""
ASSET = "query($path: String!) { asset(by: {path: $path}) { id version } }"
METADATA = """query($first: String!, $second: String!) {
  assets(by: {attributes: {all: [{key: "first", eq: {text: $first}}, {key: "second", eq: {text: $second}}]}}) {
    nodes { id slug path title attributes { key text } }
  }
}"""
POST = """mutation($subject: ID!, $op: ID!) {
  postComment(input: {subjectId: $subject, text: "What one hears at once is not what stays.", idempotencyKey: $op}) {
    __typename ... on Comment { slug } ... on UserError { code message }
  }
}"""
ADD = """mutation($category: ID!, $locale: LocaleTag!) {
  addTranslation(input: {categoryId: $category, locale: $locale, name: "Another name"}) {
    __typename ... on Category { path } ... on UserError { code message }
  }
}"""
REMOVE = """mutation($category: ID!, $locale: LocaleTag!) {
  removeTranslation(input: {categoryId: $category, locale: $locale}) {
    __typename ... on Category { path } ... on UserError { code message }
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
    """A line of an import; the document is of about 1 KB. What is sold is free: no provider is asked for a payment of
    nothing."""
    prose = " ".join(draw.choice(WORDS) for _ in range(90))
    return {
        "sku": f"product-{number:05}",
        "categories": [path],
        "pricing": {
            "list": draw.randrange(2_000, 3_000),
            "retail": draw.randrange(1_000, 2_000) if number >= ITEMS else 0,
            "currency": "EUR",
        },
        "content": {
            "title": f"{draw.choice(WORDS)} {draw.choice(WORDS)} {number}",
            "description": prose[:500],
            "details": {"generic": {"type": "item", "properties": []}},
        },
    }


def languages(first: int, count: int) -> List[str]:
    """Tags of languages that no category has from the start."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    tags = [one + other for one in letters for other in letters if one + other != "en"]
    return tags[first : first + count]


def fill(places: Places, database: Database, folder: Path, runs: int) -> None:
    """Brings the simulator's data into docgate's database, for so many runs of each scenario."""
    paths, draw = tree(), random.Random(1)
    categories = [{"path": path, "names": {"en": f"Category {at + 1}"}} for at, path in enumerate(paths)]
    products = [product(at, paths[at % len(paths)], draw) for at in range(PRODUCTS)]
    for parent, (count, each), spoken in (
        ("growing", GROWING, []),
        ("shrinking", SHRINKING, languages(0, REMOVED * runs)),
    ):
        categories.append({"path": f"/{parent}", "names": {"en": parent}})
        below = [f"/{parent}/{parent}-{at}" for at in range(count)]
        names = {tag: f"Name in {tag}" for tag in ["en", *spoken]}
        categories += [{"path": path, "names": names} for path in below]
        products += [
            {**product(at, path, draw), "sku": f"{parent}-{at:05}"}
            for at, path in enumerate(path for path in below for _ in range(each))
        ]

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
    merchant: str
    #: Of a producer and worker.
    worker: str
    accounts: List[str]
    #: What can be discussed.
    discussed: List[str]
    #: Ids of the categories whose languages grow, and shrink.
    growing: List[str]
    shrinking: List[str]
    #: Runs that there will be, and those that began, by scenario.
    runs: int
    begun: Counter[str] = field(default_factory=Counter)

    def request(self, name: str) -> Union[Request, Flow]:
        """What the next run of the scenario sends."""
        number = self.begun[name]
        self.begun[name] += 1
        if name.startswith("cart-"):
            policy = "RESERVE" if name == "cart-with-reservation" else "AT_CHECKOUT"
            items = [f"product-{at:05}" for at in range(ITEMS)]
            return Flow("checkout", {"skus": items, "token": self.token, "policy": policy})
        if name in QUEUE:
            return Flow("job", {"queue": f"{name}-{number}", "token": self.worker})
        if name == "account-transfer":
            drawn = [json.dumps({"from": one, "to": other})[1:-1] for one, other in shop.pairs(self.accounts)]
            return graphql(TRANSFER, ["{", 0, ',"op":"', OP, '"}'], [Column(drawn)], self.token)
        if name == "metadata":
            pairs = [{"first": f"value {at}", "second": f"other {at}"} for at in range(ASSETS)]
            return graphql(METADATA, [0], [Column([of(pair) for pair in pairs])])
        if name == "slice-cache":
            drawn = [of({"subject": one})[1:-1] for one in self.discussed]
            return graphql(POST, ["{", 0, ',"op":"', OP, '"}'], [Column(drawn)], self.token)
        if name == "add-language":
            each = (LANGUAGES - 1) // self.runs
            return self.translation(ADD, self.growing, languages(number * each, each))
        if name == "remove-language":
            return self.translation(REMOVE, self.shrinking, languages(number * REMOVED, REMOVED))
        queries = {
            "category-children": CHILDREN,
            "category-subtree": SUBTREE,
            "products-of-category": PRODUCTS_BY % "exact",
            "products-of-children": PRODUCTS_BY % "children",
            "products-of-subtree": PRODUCTS_BY % "subtree",
        }
        return graphql(queries[name], [0], [Column([of({"path": path}) for path in tree()])])


    def translation(self, query: str, categories: List[str], tags: List[str]) -> Request:
        """Each category and language once, in no order."""
        drawn = [of({"category": category, "locale": tag}) for tag in tags for category in categories]
        random.Random(1).shuffle(drawn)
        return graphql(query, [0], [Column(drawn, in_turn=True)], self.merchant)


def prepare(places: Places, database: Database, address: Address, accounts: int, runs: int) -> Side:
    """What comes in through the gateway: stock, accounts, discussions and assets."""
    owner = token(places, database, shop.SUBJECT)
    merchant, service = (token(places, database, "m", "merchant"), token(places, database, "s", "service"))
    skus = [f"product-{at:05}" for at in range(ITEMS)]
    shop.receive(address, skus, IN_STOCK, merchant)
    shop.discuss(address, skus[:DISCUSSED], merchant, [])
    describe(address, token(places, database, "e", "editor"))
    owned = shop.open_accounts(address, accounts, BALANCE, owner, service)
    discussed = [shop.global_id("product", sku) for sku in skus[:DISCUSSED]]
    growing, shrinking = (below(address, f"/{parent}") for parent in ("growing", "shrinking"))
    worker = token(places, database, "w", "producer", "worker")
    return Side(owner, merchant, worker, owned, discussed, growing, shrinking, runs)


def describe(address: Address, editor: str) -> None:
    """Uploads assets and gives two pairs to each."""
    paths = [f"/assets/described-{at}" for at in range(ASSETS)]
    for status, body in send_all(address, [encoded("PUT", path, "{}", bearer(editor)) for path in paths], shop.AT_ONCE):
        if status not in (200, 201):
            raise Trouble(f"an asset wasn't taken: {status} {body.decode()[:300]}")
    edits = []
    for at, path in enumerate(paths):
        asset = ask(address, ASSET, {"path": path.removeprefix("/assets")}, editor)["asset"]
        pairs = '[{key: "first", value: {text: "value %d"}}, {key: "second", value: {text: "other %d"}}]' % (at, at)
        given = 'assetId: "%s", version: "%s", attributes: %s' % (asset["id"], asset["version"], pairs)
        edits.append("editAsset(input: {%s}) { __typename %s }" % (given, shop.REFUSAL))
    shop.carry_out(address, edits, editor)


def below(address: Address, path: str) -> List[str]:
    """Ids of the categories right below a path."""
    pages = shop.all_pages(address, BELOW, "categories", {"path": path})
    return [node["id"] for page in pages for node in page["nodes"]]


def finish_jobs(node: str, places: Places, database: Database, count: int) -> None:
    """Puts so many finished jobs into the queues of both sides."""
    for name, jobs in ((DOCGATES, "jobs"), (DIRECTS, "direct_jobs")):
        direct(node, places, database, "finish", jobs, "--count", str(count), name=name)


def direct(
    node: str, places: Places, database: Database, *arguments: str, name: str = DIRECTS, seconds: float = 300
) -> Optional[Dict[str, Any]]:
    """Runs direct.js; what it says in its last line."""
    environment = database.environment(name)
    command = [node, "direct.js", *arguments]
    run = subprocess.run(
        command, env=environment, cwd=places.peers, capture_output=True, text=True, timeout=seconds
    )
    if run.returncode != 0:
        raise Trouble(f"direct.js {' '.join(arguments)}: {run.stdout}{run.stderr}")
    lines = run.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else None
