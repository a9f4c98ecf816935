"""What each read looks at, and how long it takes, where there is little and where there is much: the same
reads on two databases that differ in size alone (peers/grow.js)."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

import servers
from client import Address, Connection, bearer, encoded, send_all
from processes import Processes, Trouble
from results import median
from shop import global_id
from servers import Database, Places, Server

#: Documents that belong together, as grow.js has it.
GROUP = 50
#: Reads of each kind whose figures are compared.
EXPLAINED = 20
#: Whose orders, carts and accounts are asked for; what belongs to them is there in the small database too.
OWNER = "owner-2"
OWNED = range(2 * GROUP, 3 * GROUP)

SMALL, LARGE = 10_000, 1_000_000


def place(number: int) -> str:
    branch = number // 10
    return f"/root-{branch // 10}/branch-{branch}/place-{number}"


def price(number: int) -> int:
    return 100 + number * 7919 % 10_000_000


def weight(number: int) -> int:
    return 10 + number * 104_729 % 1_000_000


def around(amount: int, count: int) -> Tuple[int, int]:
    """A side of a box in which there are about as many, however many there are in all."""
    part = 0.02 * (SMALL / count) ** 0.5
    return int(amount * (1 - part)), int(amount * (1 + part)) + 1


@dataclass
class Read:
    """One kind of read."""

    title: str
    query: str
    #: The variables for the document of that number, of so many.
    variables: Callable[[int, int], Dict[str, Any]]
    #: Whether its bounds are one index range; then it looks at nothing that it doesn't return.
    one_range: bool = True
    #: Documents and keys that it may look at for each one of a page, where it isn't; nothing where
    #: docgate doesn't tell (`explain` isn't asked about aggregations).
    allowed: Optional[int] = None


def products(by: str, variables: str) -> str:
    return (
        f"query({variables}) {{ products(by: {{{by}}}, first: 20) "
        "{ nodes { sku title } pageInfo { hasNextPage endCursor } } }"
    )


def sku(number: int) -> str:
    return f"GROWN-{number:07}"


READS = [
    Read("product by SKU", "query($a: ID!) { product(sku: $a) { title } }", lambda n, _: {"a": sku(n)}),
    Read("stock by SKU", "query($a: ID!) { stock(sku: $a) { available } }", lambda n, _: {"a": sku(n)}),
    Read(
        "category by path",
        "query($a: String!) { category(by: {path: $a}) { slug } }",
        lambda n, _: {"a": place(n)},
    ),
    Read(
        "category by slug",
        "query($a: Slug!) { category(by: {slug: $a}) { path } }",
        lambda n, _: {"a": f"place-{n}"},
    ),
    Read(
        "person by id",
        "query($a: ID!) { person(id: $a) { name } }",
        lambda n, _: {"a": global_id("person", f"person-{n}")},
    ),
    Read(
        "cart by id",
        "query($a: ID!) { cart(id: $a) { state } }",
        lambda n, _: {"a": global_id("cart", f"cart-{OWNED[n % GROUP]}")},
    ),
    Read(
        "order by id",
        "query($a: ID!) { order(id: $a) { state } }",
        lambda n, _: {"a": global_id("order", f"order-{n}")},
    ),
    Read(
        "account by id",
        "query($a: ID!) { account(id: $a) { currency } }",
        lambda n, _: {"a": global_id("account", f"account-{OWNED[n % GROUP]}")},
    ),
    Read(
        "menu: categories below a path",
        "query($a: String!) { categories(parentPath: $a, first: 20) { nodes { path } } }",
        lambda n, _: {"a": place(n).rsplit("/", 1)[0]},
    ),
    Read(
        "subtree of categories",
        "query($a: String!) { categorySubtree(path: $a, first: 20) { nodes { path } } }",
        lambda n, _: {"a": place(n).rsplit("/", 2)[0]},
    ),
    Read(
        "people by the beginning of their name",
        "query($a: String!) { people(nameStartsWith: $a, first: 20) { nodes { name } } }",
        lambda n, _: {"a": f"Person {n:07}"[:-1]},
    ),
    Read("my orders, newest first", "{ myOrders(first: 20) { nodes { state } } }", lambda n, _: {}),
    Read("my accounts", "{ myAccounts(first: 20) { nodes { currency } } }", lambda n, _: {}),
    Read(
        "statement of an account",
        "query($a: ID!) { account(id: $a) { statement(first: 20) { nodes { counterpartyId } } } }",
        lambda n, _: {"a": global_id("account", f"account-{OWNED[n % GROUP]}")},
    ),
    Read(
        "products by discount",
        products("discountAtLeast: $a", "$a: Int!"),
        lambda n, _: {"a": 1 + n % 49},
    ),
    Read(
        "albums of a genre",
        products("albumsByGenre: $a", "$a: String!"),
        lambda n, _: {"a": f"Genre {n // GROUP}"},
    ),
    Read(
        "products of a person, by id",
        products('credited: {by: {personId: $a}, role: "author", type: "album"}', "$a: ID!"),
        lambda n, _: {"a": global_id("person", f"person-{n // GROUP}")},
    ),
    Read(
        "products of a person, by name",
        products('credited: {by: {name: $a}, role: "author", type: "album"}', "$a: String!"),
        lambda n, _: {"a": f"Person {n // GROUP}"},
    ),
    Read(
        "products by the beginning of their title",
        products("titleStartsWith: {prefix: $a}", "$a: String!"),
        lambda n, _: {"a": f"{n:07}"[:-1]},
    ),
    Read(
        "likewise, of one type",
        products('titleStartsWith: {prefix: $a, type: "album"}', "$a: String!"),
        lambda n, _: {"a": f"{n:07}"[:-1]},
    ),
    Read(
        "products of a category",
        products("category: {exact: $a}", "$a: String!"),
        lambda n, _: {"a": place(n // GROUP)},
    ),
    Read(
        "products of a category's children",
        products("category: {children: $a}", "$a: String!"),
        lambda n, _: {"a": place(n // GROUP).rsplit("/", 1)[0]},
    ),
    Read(
        "products of a subtree",
        products("category: {subtree: $a}", "$a: String!"),
        lambda n, _: {"a": place(n // GROUP).rsplit("/", 2)[0]},
    ),
    Read(
        "products between two prices",
        products('priceBetween: {currency: "EUR", min: $a, max: $b}', "$a: Long!, $b: Long!"),
        lambda n, _: {"a": price(n), "b": price(n) + 1_000_000},
    ),
    Read(
        "products with one property",
        products("property: [{key: \"batch\", value: $a}]", "$a: String!"),
        lambda n, _: {"a": f"batch {n // GROUP}"},
    ),
    Read(
        "products with two properties, the rarer first",
        products(
            'property: [{key: "batch", value: $a}, {key: "parity", value: "odd"}]', "$a: String!"
        ),
        lambda n, _: {"a": f"batch {n // GROUP}"},
        one_range=False,
        allowed=4,
    ),
    Read(
        "products by a word that one of them has",
        products("text: {query: $a}", "$a: String!"),
        lambda n, _: {"a": f"{n:07}"},
        one_range=False,
    ),
    Read(
        "products within a box of price and weight",
        products(
            'box: {currency: "EUR", price: {min: $a, max: $b}, weight: {min: $c, max: $d}}',
            "$a: Long!, $b: Long!, $c: Int!, $d: Int!",
        ),
        lambda n, count: {
            **dict(zip("ab", around(price(n), count))),
            **dict(zip("cd", around(weight(n), count))),
        },
        one_range=False,
        allowed=20,
    ),
]


class Growth:
    """The two databases, each with a docgate on it."""

    def __init__(
        self, places: Places, processes: Processes, database: Database, docgate: Server, node: str, large: int
    ):
        self.counts = [SMALL, large]
        self.addresses: List[Address] = []
        self.token = servers.token(places, database, OWNER, "admin")
        for count in self.counts:
            name = f"docgate_grown_{count}"
            environment = database.environment(name)
            grow = [node, "grow.js", name, str(count)]
            apply = [str(places.docgate), "indexes", "apply"]
            for command, where in ((grow, database.environment()), (apply, environment)):
                run = subprocess.run(
                    command, cwd=places.peers, env=where, capture_output=True, text=True, timeout=3_600
                )
                if run.returncode != 0:
                    raise Trouble(f"{' '.join(command)}: {run.stdout}{run.stderr}")
            self.addresses.append(docgate.start(processes, database, name).address)

    def measure(self, read: Read, rounds: int, requests: int) -> Dict[str, Any]:
        is_told = read.one_range or read.allowed is not None
        figures = [self.figures(read, at) for at in range(len(self.counts))] if is_told else []
        times: List[List[float]] = [[], []]
        asked = [self.asked(read, at, requests) for at in range(len(self.counts))]
        for number in range(rounds + 1):
            taken = asyncio.run(timed(self.addresses, asked))
            # The first time what isn't in memory is read from disk.
            if number:
                for at, of_one in enumerate(taken):
                    times[at].append(median(of_one) * 1_000)
        return {
            "read": read.title,
            "oneRange": read.one_range,
            "allowed": read.allowed,
            "counts": self.counts,
            "figures": figures,
            "millis": times,
        }

    def asked(self, read: Read, at: int, count: int, explain: bool = False) -> List[bytes]:
        draw = random.Random(7)
        headers = {**bearer(self.token), **({"X-Docgate-Explain": "true"} if explain else {})}
        numbers = [draw.randrange(self.counts[at]) for _ in range(count)]
        bodies = [json.dumps({"query": read.query, "variables": read.variables(number, self.counts[at])}) for number in numbers]
        return [encoded("POST", "/graphql", body, headers) for body in bodies]

    def figures(self, read: Read, at: int) -> Dict[str, int]:
        """The most that any of some reads looked at beyond what it returned, and what they returned."""
        answers = send_all(self.addresses[at], self.asked(read, at, EXPLAINED, explain=True))
        seen = [self.command(read, status, body) for status, body in answers]
        return {
            "returned": round(median([one["returned"] for one in seen])),
            "docsBeyond": max(one["docsExamined"] - one["returned"] for one in seen),
            "keysBeyond": max(one["keysExamined"] - one["returned"] for one in seen),
        }

    def command(self, read: Read, status: int, body: bytes) -> Dict[str, Any]:
        answer = json.loads(body)
        if status != 200 or answer.get("errors") or None in answer["data"].values():
            raise Trouble(f"{read.title}: {status} {body.decode()[:500]}")
        # The account of a statement is read before it.
        commands = answer["extensions"]["docgate"]["commands"]
        if not commands or any(command["returned"] is None for command in commands):
            raise Trouble(f"{read.title}: not only reads but {commands}")
        figures = ("docsExamined", "keysExamined", "returned")
        return {figure: sum(command[figure] for command in commands) for figure in figures}


async def timed(addresses: List[Address], asked: List[List[bytes]]) -> List[List[float]]:
    """Seconds of each request, on one connection to each address: request by request in turn, so that what else
    this machine does falls on both alike, and the other way round every second time."""
    connections = [await Connection.to(address) for address in addresses]
    taken: List[List[float]] = [[] for _ in addresses]
    sides = list(range(len(addresses)))
    try:
        for requests in zip(*asked):
            for at in sides:
                begun = time.perf_counter()
                status, body = await asyncio.wait_for(connections[at].send(requests[at]), 60)
                taken[at].append(time.perf_counter() - begun)
                if status != 200 or b'"errors":' in body:
                    raise Trouble(f"{status} {body.decode()[:500]}")
            sides.reverse()
    finally:
        for connection in connections:
            connection.close()
    return taken


def keeps_bounds(found: Dict[str, Any]) -> bool:
    """Whether no read looked at more than it may."""
    for figures in found["figures"]:
        if found["oneRange"]:
            if figures["docsBeyond"] > 0 or figures["keysBeyond"] > 1:
                return False
        elif max(figures["docsBeyond"], figures["keysBeyond"]) > found["allowed"] * max(figures["returned"], 20):
            return False
    return True
