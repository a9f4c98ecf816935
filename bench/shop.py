"""The keys that requests are made of, read through GraphQL, and what has to be in the shop first."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from client import Address, ask, data, graphql, send_all
from processes import Trouble
from servers import Places

#: Mutations in one request, and requests under way while the shop is being prepared.
TOGETHER = 20
AT_ONCE = 16
#: Pages of the discounted products that are drawn from.
PAGES = 50
#: Products that are discussed, at the most, and by how many.
DISCUSSED, REVIEWERS = 500, 3
#: Who does the bench's own shopping.
SUBJECT = "bench"


@dataclass
class Keys:
    """What there is in the shop."""

    skus: List[str]
    #: Products that nobody has said anything about: SKU and path of the category that it stands in.
    undiscussed: List[Tuple[str, str]]
    #: Categories that have others below them.
    parents: List[str]
    #: Cursors in the list of discounted products.
    cursors: List[Optional[str]]
    #: Titles of the products.
    titles: List[str]
    #: Paths of all categories.
    categories: List[str]


PRODUCTS_BELOW = """query($path: String!, $after: String) {
  products(by: {category: {subtree: $path}}, first: 100, after: $after) {
    nodes { sku title categories { path } discussion { commentCount } } pageInfo { hasNextPage endCursor }
  }
}"""
CATEGORIES = """query($after: String) {
  categorySubtree(path: "/", first: 100, after: $after) {
    nodes { path parentPath } pageInfo { hasNextPage endCursor }
  }
}"""
DISCOUNTED = """query($after: String) {
  products(by: {discountAtLeast: 5}, first: 20, after: $after) { pageInfo { hasNextPage endCursor } }
}"""


def all_pages(
    address: Address, query: str, field: str, variables: Optional[dict] = None, most: int = 10_000
) -> List[dict]:
    """The pages of a list."""
    pages: List[dict] = []
    after = None
    while len(pages) < most:
        page = ask(address, query, {**(variables or {}), "after": after})[field]
        pages.append(page)
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    return pages


def read_keys(address: Address) -> Keys:
    categories = [
        node for page in all_pages(address, CATEGORIES, "categorySubtree") for node in page["nodes"]
    ]
    roots = [node["path"] for node in categories if node["parentPath"] == "/"]
    parents = sorted({node["parentPath"] for node in categories} - {"/"})
    products: Dict[str, dict] = {}
    for root in roots:
        for page in all_pages(address, PRODUCTS_BELOW, "products", {"path": root}):
            products.update((node["sku"], node) for node in page["nodes"])

    undiscussed = [
        (sku, node["categories"][0]["path"]) for sku, node in sorted(products.items()) if not node["discussion"]
    ]
    pages = all_pages(address, DISCOUNTED, "products", most=PAGES)
    cursors = [None] + [page["pageInfo"]["endCursor"] for page in pages[:-1]]
    titles = [node["title"] for _, node in sorted(products.items())]
    return Keys(sorted(products), undiscussed, parents, cursors, titles, [node["path"] for node in categories])


def together(fields: List[str]) -> List[str]:
    """Mutations as a few requests of several each."""
    groups = [fields[at : at + TOGETHER] for at in range(0, len(fields), TOGETHER)]
    named = [" ".join(f"m{at}: {field}" for at, field in enumerate(group)) for group in groups]
    return ["mutation { " + text + " }" for text in named]


def carry_out(address: Address, fields: List[str], token: Optional[str] = None) -> List[dict]:
    """What the mutations were answered with, in their order."""
    requests = [graphql(text, None, token) for text in together(fields)]
    answers = send_all(address, requests, AT_ONCE)
    return [field for answer in answers for field in data(answer).values()]


def give_away(
    places: Places, environment: Dict[str, str], folder: Path, placed: List[Tuple[str, str]]
) -> List[str]:
    """As many products as those again, without a price: a checkout of them asks no payment provider."""
    file, skus = folder / "free.jsonl", [f"free-{at}" for at in range(len(placed))]
    content = {"title": "A sample", "details": {"generic": {"type": "item", "properties": []}}}
    pricing = {"list": 0, "retail": 0, "currency": "EUR"}
    lines = [
        {"sku": sku, "categories": [path], "pricing": pricing, "content": content}
        for sku, (_, path) in zip(skus, placed)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [str(places.docgate), "import", "products", str(file)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise Trouble(f"{' '.join(command)}: {run.stdout}{run.stderr}")
    return skus


REFUSAL = "... on UserError { code message }"


def open_carts(address: Address, count: int) -> List[str]:
    """Fresh carts without an owner."""
    opening = 'openCart(input: {policy: AT_CHECKOUT, currency: "EUR"}) { ... on Cart { id } %s }' % REFUSAL
    return [cart["id"] for cart in carry_out(address, [opening] * count)]


def open_accounts(address: Address, count: int, balance: int, owner: str, service: str) -> List[str]:
    """Accounts of the bearer of `owner`, with money in them."""
    opening = 'openAccount(input: {currency: "EUR"}) { ... on Account { id } %s }' % REFUSAL
    accounts = [account["id"] for account in carry_out(address, [opening] * count, owner)]
    deposit = 'deposit(input: {accountId: "%s", amount: %d}) { __typename %s }'
    carry_out(address, [deposit % (account, balance, REFUSAL) for account in accounts], service)
    return accounts


def receive(address: Address, skus: List[str], quantity: int, merchant: str) -> None:
    """Fills the shelves, so that nothing is sold out."""
    receipt = 'receiveStock(input: {sku: "%s", quantity: %d}) { __typename %s }'
    carry_out(address, [receipt % (sku, quantity, REFUSAL) for sku in skus], merchant)


def discuss(address: Address, skus: List[str], merchant: str, reviewers: List[str]) -> None:
    """Opens a discussion of each, in which all of them say something."""
    opening = 'openDiscussion(input: {subjectId: "%s", layout: PER_DOCUMENT}) { __typename %s }'
    carry_out(address, [opening % (global_id("product", sku), REFUSAL) for sku in skus], merchant)
    review = 'reviewProduct(input: {sku: "%s", stars: %d, text: "%s"}) { __typename %s }'
    text = "What one hears at once is not what stays: that comes with the third time."
    for stars, reviewer in enumerate(reviewers, 3):
        carry_out(address, [review % (sku, stars, text, REFUSAL) for sku in skus], reviewer)


#: Campaigns of the one zone, each with five ads, and those who launched them.
CAMPAIGNS, ADVERTISERS = 20, 4


def place_ads(address: Address, publisher: str, advertisers: List[str]) -> None:
    """A zone of a hundred ads, whose budgets last."""
    zone = 'createAdZone(input: {site: "bench.example", name: "top", currency: EUR}) { __typename %s }' % REFUSAL
    carry_out(address, [zone.replace("EUR", '"EUR"')], publisher)
    launch = (
        'launchCampaign(input: {name: "Bench", zones: [{site: "bench.example", name: "top"}], pricing: CPM, bid: %d, '
        'currency: "EUR", budget: 1000000000000, targetUrl: "https://bench.example/", adUnits: [%s], '
        "frequencyCap: {count: 100, seconds: 3600}}) { __typename %s }"
    )
    unit = '{keywords: ["word-%d", "word-%d"], creative: {headline: "Bench", text: "%s"}}'
    text = "What one sees at once is not what stays."
    for at, token in enumerate(advertisers):
        launches = []
        for number in range(at, CAMPAIGNS, len(advertisers)):
            units = ", ".join(unit % ((number + one) % 20, (3 * number + one) % 20, text) for one in range(5))
            launches.append(launch % (500 + 10 * number, units, REFUSAL))
        carry_out(address, launches, token)


def global_id(kind: str, key: str) -> str:
    return base64.urlsafe_b64encode(f"{kind}:{key}".encode()).decode().rstrip("=")


def stored_key(global_id: str) -> str:
    """The key behind a global id, as it stands in the database."""
    padded = global_id + "=" * (-len(global_id) % 4)
    return base64.urlsafe_b64decode(padded).decode().split(":", 1)[1]


def pairs(accounts: List[str], count: int = 20_000) -> List[Tuple[str, str]]:
    """Two different accounts each."""
    draw = random.Random(1)
    return [tuple(draw.sample(accounts, 2)) for _ in range(count)]  # type: ignore[misc]
