"""The work that is measured, and what each server is sent for it."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import game
import shop
from client import Address
from load import OP, Column, Load, Request, graphql
from servers import APART, ASSURED, BARE, BY_KEY, DOCGATE, LIBRARY, MEMORY, NODE_PEERS, PLAIN, TRANSACTIONS

FIELDS = """__typename id sku type title description language
  pricing {
    retail { minorUnits currency } list { minorUnits currency } savings { minorUnits currency } pctSavings
  }
  contributors { personId name role } categories { id name path }"""

PRODUCT = "query Product($sku: ID!) { product(sku: $sku) { %s } }" % FIELDS
PAGE = (
    """query Page($path: String!, $sku: ID!) {
  category(by: {path: $path}) { id name path breadcrumbs { name path } }
  product(sku: $sku) { %s
    discussion { commentCount rating { count average } latestComments { slug author { id name } text isCut stars postedAt } }
  }
}"""
    % FIELDS
)
CHILDREN = """query Children($path: String!) {
  categories(parentPath: $path, first: 20) {
    edges { node { id slug path name } } pageInfo { hasNextPage endCursor }
  }
}"""
CATALOG = """query Catalog($after: String) {
  products(by: {discountAtLeast: 5}, first: 20, after: $after) {
    edges { node {
      __typename id sku title contributors { name role }
      pricing { retail { minorUnits currency } list { minorUnits currency } pctSavings }
    } }
    pageInfo { hasNextPage endCursor }
  }
}"""
LISTED = """query Listed($after: String) {
  products(by: {discountAtLeast: 5}, first: 20, after: $after) {
    nodes {
      __typename id sku title
      pricing { retail { minorUnits currency } list { minorUnits currency } pctSavings } %s
    }
    pageInfo { hasNextPage endCursor }
  }
}"""
#: What the list has, and the one beside it hasn't.
SHOWN = """contributors { name role } availability
      images { url(width: 480) large: url(width: 960) width height alternativeText }"""
SUGGEST = """query Suggest($text: String!) {
  suggest(text: $text, first: 6) { products { sku slug type title correctedText } %s }
}"""
PEOPLE = "people { personId name correctedText }"
FACETS = """query Facets($path: String!) {
  category(by: {path: $path}) {
    path name
    facets {
      total types { value count } prices { currency min max count } contributors { personId name count }
      properties { key values { value count } }
    }
  }
}"""
ADD = """mutation Add($cart: ID!, $sku: ID!) {
  addCartLine(input: {cartId: $cart, sku: $sku, quantity: 1}) {
    __typename
    ... on Cart {
      state total { minorUnits currency }
      lines {
        sku quantity held title type unitPrice { minorUnits currency } total { minorUnits currency }
      }
    }
    ... on UserError { code message }
  }
}"""
TRANSFER = """mutation Transfer($from: ID!, $to: ID!, $op: ID!) {
  transfer(input: {sourceId: $from, destinationId: $to, amount: 100, idempotencyKey: $op}) {
    __typename ... on Transfer { id state } ... on UserError { code message }
  }
}"""

HIT = """mutation Hit($page: String!) {
  recordHits(input: {hits: [{site: "shop.example", page: $page}]}) {
    __typename ... on HitsRecorded { count } ... on UserError { code message }
  }
}"""
ADS = """mutation Ads($visitor: String!, $keywords: [String!]!) {
  serveAds(input: {site: "bench.example", zone: "top", visitor: $visitor, keywords: $keywords}) {
    __typename
    ... on ServedAds { ads { campaignId adUnit creative { headline text } token } }
    ... on UserError { code message }
  }
}"""
CHOOSE = """query Choose($visitor: String!, $keywords: [String!]!) {
  previewAds(site: "bench.example", zone: "top", visitor: $visitor, keywords: $keywords) {
    campaignId adUnit creative { headline text }
  }
}"""
#: Visitors who see ads.
VISITORS = 10_000
NEWS = """query News {
  news(first: 20) {
    nodes { id text createdAt commentCount author { name } latestComments { text author { name } } }
  }
}"""
CHARACTER = """query Character($id: ID!) {
  character(id: $id) {
    id name class health maxHealth mana maxMana gold
    room { title description exits { direction placeId } players { id name class } things { id description quantity } }
    armor { slot thing { description } } weapons { slot thing { description } }
    inventory { id description quantity contents { id description } }
  }
}"""
GIVE = """mutation Give($from: ID!, $to: ID!, $op: ID!) {
  giveGold(input: {characterId: $from, toCharacterId: $to, amount: 1, idempotencyKey: $op}) {
    __typename ... on Character { id gold } ... on UserError { code message }
  }
}"""
PICK = """mutation Pick($character: ID!, $thing: ID!, $op: ID!) {
  pickUp(input: {characterId: $character, thingId: $thing, quantity: 1, idempotencyKey: $op}) {
    __typename ... on Character { id gold } ... on UserError { code message }
  }
}"""
#: Pages that are hit, as many as the simulator has series.
PAGES = 1_000

AMOUNT = 100
#: Stands where no account is needed.
NO_ACCOUNT = "YWNjb3VudDpub25l"
GRAPHQL = [DOCGATE, *NODE_PEERS]


@dataclass(frozen=True)
class Flow:
    """Work of several requests, one after the other: a kind of flows.py."""

    kind: str
    lists: Dict[str, Any]


#: Made for each run anew: what it is sent may have to be prepared.
Making = Callable[[Load], Union[Request, Flow]]


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    #: In plain words, for the report.
    what: str
    by: Dict[str, Making]
    #: Servers whose answers are the same as docgate's.
    compared: List[str]
    #: The collections that one request to docgate sends commands to, once for each command. None: it isn't looked at.
    commands: Optional[List[str]] = None
    #: Of these, those that not every request needs.
    spared: Sequence[str] = ()


def of(variables: Dict[str, Any]) -> str:
    return json.dumps(variables)


@dataclass
class Shelf:
    """What the requests are made of."""

    #: docgate, through which carts are opened.
    address: Address
    keys: shop.Keys
    #: Products without a price.
    free: List[str]
    token: str
    #: Of who may count hits.
    counting: str
    accounts: List[str]
    #: SKU and path of those that are discussed.
    discussed: List[Tuple[str, str]]
    carts: int
    #: Subject and token of those who read their news.
    viewers: List[Tuple[str, str]]
    world: game.World
    #: Of the player.
    playing: str
    #: Of the publisher of the ads.
    publisher: str


def beginnings(titles: Sequence[str]) -> List[str]:
    """What somebody types of a title: the first 3 to 6 characters of one of its words."""
    draw = random.Random(1)
    words = [re.findall(r"\w{3,}", title.lower()) for title in titles]
    return [draw.choice(found)[: draw.randint(3, 6)] for found in words if found]


def works(shelf: Shelf) -> List[Work]:
    keys = shelf.keys

    def reading(query: str, variables: List[Dict[str, Any]], *more: str) -> Dict[str, Making]:
        request = graphql(query, [0], [Column([of(one) for one in variables])])
        return {name: lambda _: request for name in [*GRAPHQL, *more]}

    def bare(method: str, path: str) -> Making:
        return lambda _: Request([path, 0], (), [Column(keys.skus)], method)

    def adding(load: Load) -> Request:
        few = 10 if load.connections == 1 else 1
        carts = shop.open_carts(shelf.address, max(load.connections, shelf.carts // few))
        columns = [Column(carts, in_turn=True), Column(keys.skus)]
        return graphql(ADD, ['{"cart":"', 0, '","sku":"', 1, '"}'], columns)

    pages = [json.dumps({"page": f"/page/{number}"})[1:-1] for number in range(PAGES)]
    hit = graphql(HIT, ["{", 0, "}"], [Column(pages)], shelf.counting)

    visits = [
        json.dumps({"visitor": f"visitor-{at}", "keywords": [f"word-{at % 20}", f"word-{at % 7}"]})[1:-1]
        for at in range(VISITORS)
    ]
    ads = graphql(ADS, ["{", 0, "}"], [Column(visits)], shelf.counting)
    choosing = graphql(CHOOSE, ["{", 0, "}"], [Column(visits)], shelf.publisher)
    by_key_reading = reading(PRODUCT, [{"sku": sku} for sku in keys.skus])[DOCGATE]
    pages_of_list = [{"after": cursor} for cursor in keys.cursors]
    typed = [{"text": text} for text in beginnings(keys.titles)]

    def beside_by_key(query: str, variables: List[Dict[str, Any]]) -> Dict[str, Making]:
        return {DOCGATE: reading(query, variables)[DOCGATE], BY_KEY: by_key_reading}

    def suggesting(query: str) -> Dict[str, Making]:
        """The same texts for a docgate that keeps suggestions and for one that doesn't."""
        asked = beside_by_key(query, typed)
        return {**asked, APART: asked[DOCGATE]}

    stored = [shop.stored_key(account) for account in shelf.accounts]
    transfers = [json.dumps({"from": one, "to": other})[1:-1] for one, other in shop.pairs(shelf.accounts)]
    by_key = [json.dumps({"from": one, "to": other, "amount": AMOUNT}) for one, other in shop.pairs(stored)]
    transfer = graphql(TRANSFER, ["{", 0, ',"op":"', OP, '"}'], [Column(transfers)], shelf.token)
    checkout = {"skus": shelf.free, "token": shelf.token, "policy": "AT_CHECKOUT"}
    by_transaction = {"skus": shelf.free, "owner": shop.SUBJECT}

    def paying(more: Dict[str, Any]) -> Dict[str, Making]:
        # The peer's accounts are copies of docgate's.
        ours = {**checkout, "skus": keys.skus, "payers": shelf.accounts, **more}
        theirs = {**by_transaction, "skus": keys.skus, "payers": stored, **more}
        return {
            DOCGATE: lambda _: Flow("checkout", ours),
            ASSURED: lambda _: Flow("checkoutByTransaction", theirs),
        }

    by_token = Column([token for _, token in shelf.viewers])
    news = graphql(NEWS, ["{}"], [by_token])
    news = dataclasses.replace(news, headers={"Authorization": ["Bearer ", 0]})
    joined = Request(["/news/", 0], (), [Column([viewer for viewer, _ in shelf.viewers])], "GET")

    def character(key: str) -> str:
        return game.global_id("character", key)

    world = shelf.world
    seen = [of({"id": character(key)}) for key in world.characters]
    looking = graphql(CHARACTER, [0], [Column(seen)], shelf.playing)
    gifts = [of({"from": character(one), "to": character(other)})[1:-1] for one, other in world.pairs]
    giving = graphql(GIVE, ["{", 0, ',"op":"', OP, '"}'], [Column(gifts)], shelf.playing)
    gifts_there = [of({"from": one, "to": other}) for one, other in world.pairs]
    picks = [of({"character": character(one), "thing": pile})[1:-1] for one, _, pile in world.reach]
    picking = graphql(PICK, ["{", 0, ',"op":"', OP, '"}'], [Column(picks)], shelf.playing)
    picks_there = [of({"character": one, "place": place, "thing": pile}) for one, place, pile in world.reach]
    as_given = ["{", 0, ',"by":"%s","op":"' % shop.SUBJECT, OP, '"}']
    surely_given = Request(["/gold"], as_given, [Column([gift[1:-1] for gift in gifts_there])])
    picks_by_key = [of({"character": one, "thing": pile})[1:-1] for one, _, pile in world.reach]
    surely_picked = Request(["/pick"], as_given, [Column(picks_by_key)])

    columns = [Column([pair[1:-1] for pair in by_key])]
    assured = Request(["/transfer"], as_given, columns)

    return [
        Work(
            "product",
            "Product by key",
            "A product with its prices, categories and contributors, by a random SKU. The bare endpoint "
            "answers with the whole document as JSON (`GET /product/SKU`): axum, the driver with docgate's settings "
            "and mimalloc, one `find_one` in a task of its own. async-graphql is the registry's, with "
            "async-graphql-axum and the driver (`bench/library`); docgate has its own loader and HTTP instead.",
            {
                **reading(PRODUCT, [{"sku": sku} for sku in keys.skus], MEMORY, *LIBRARY),
                BARE: bare("GET", "/product/"),
            },
            [MEMORY, *LIBRARY, *NODE_PEERS],
        ),
        Work(
            "page",
            "Product page",
            f"One of {shop.DISCUSSED} products with what people say about it (number of comments, rating, the newest ones) "
            "and the breadcrumbs of its category, in one request.",
            reading(PAGE, [{"sku": sku, "path": path} for sku, path in shelf.discussed]),
            NODE_PEERS,
        ),
        Work(
            "children",
            "Category children",
            "The menu below a random category that has others below it.",
            reading(CHILDREN, [{"path": path} for path in keys.parents]),
            NODE_PEERS,
        ),
        Work(
            "catalog",
            "Catalog page",
            f"20 products by discount, highest first: a random one of the first {len(keys.cursors)} pages.",
            reading(CATALOG, [{"after": cursor} for cursor in keys.cursors]),
            NODE_PEERS,
        ),
        Work(
            "list",
            "List with pictures",
            "20 products by discount with picture (its address in two widths, size and text), availability and contributors: a "
            f"random one of the first {len(keys.cursors)} pages. Pictures and stock come by one command each for all 20. The last row "
            "is the same process, which is asked in the same rounds for the same pages without the three.",
            {
                DOCGATE: reading(LISTED % SHOWN, pages_of_list)[DOCGATE],
                PLAIN: reading(LISTED % "", pages_of_list)[DOCGATE],
            },
            [],
            ["products", "inventory", "assetEntries"],
        ),
        Work(
            "suggest",
            "Suggestions of products",
            "Up to 6 products for the first 3 to 6 characters of a random word of a title: one range of an index. There are "
            f"{len({one['text'] for one in typed}):,} different texts. They repeat, so docgate answers most of them from memory: "
            "it keeps each answer for 5 s, and callers who ask for one text at one moment share a command. Each by itself is "
            "docgate with `suggestion_cache_seconds = 0`, which sends a command for each request, as for texts that nobody "
            "repeats. The last row is the process that keeps answers, which is asked for a product by key in the same rounds; "
            "those share their commands.",
            suggesting(SUGGEST % ""),
            [],
            ["products"],
            ["products"],
        ),
        Work(
            "suggestAll",
            "Suggestions of products and people",
            "The same, and up to 6 people, as the storefront asks while somebody types. Where nobody has the words, a further command "
            "looks for people with a typing error.",
            suggesting(SUGGEST % PEOPLE),
            [],
            ["products", "people", "people"],
            ["products", "people", "people"],
        ),
        Work(
            "facets",
            "Facets of a category",
            f"One of {len(keys.categories)} categories by its path, with its facets: two documents by their keys. The last row is the "
            "same process, which is asked for a product by key in the same rounds.",
            beside_by_key(FACETS, [{"path": path} for path in keys.categories]),
            [],
            ["categories", "categoryFacets"],
        ),
        Work(
            "cart",
            "Add to cart",
            "A random product goes into a cart that takes its stock at checkout; each run has fresh carts. "
            "Answered with the whole cart. The bare endpoint does one update of another document (`POST /hit/SKU`), "
            "no more.",
            {**dict.fromkeys([DOCGATE, *NODE_PEERS], adding), BARE: bare("POST", "/hit/")},
            NODE_PEERS,
        ),
        Work(
            "hit",
            "Record a hit",
            f"One of {PAGES:,} pages was looked at: two upserts with `$inc`, of the page's day and of its month, side by "
            "side; the handler does the same (`POST /hits`), and like docgate repeats none of them. docgate lets hits of one moment share their commands; "
            "each by itself is docgate with `coalesce_counts = false`.",
            {
                DOCGATE: lambda _: hit,
                APART: lambda _: hit,
                BARE: lambda _: Request(["/hits"], ["{", 0, "}"], [Column(pages)]),
            },
            [],
        ),
        Work(
            "ads",
            "Serve an ad",
            f"One ad of a zone of a hundred, for one of {VISITORS:,} visitors with two keywords: chosen, noted in the "
            "visitor's profile for the frequency cap, and charged to its campaign. The handler (`POST /ads`, axum and the "
            "driver as above) reads the zone and the profile side by side and makes the same two updates, one by one; its "
            "cap is checked when it reads, so two requests of a visitor at once can exceed it. docgate lets updates of one "
            "moment share their commands. The last row of docgate is the same process, which is asked for a product by "
            "key in the same rounds.",
            {
                DOCGATE: lambda _: ads,
                BY_KEY: by_key_reading,
                BARE: lambda _: Request(["/ads"], ["{", 0, "}"], [Column(visits)]),
            },
            [],
        ),
        Work(
            "choose",
            "Choose an ad",
            f"An ad of a zone of a hundred, for one of {VISITORS:,} visitors with two keywords, without its charge: `previewAds`, which "
            "ranks the ads as serving does, leaves out those whose cap the visitor has reached, and reads whether the campaign of the best "
            "one can be charged. A visitor has a profile if they were served before, by the work above. The last row is the same process, "
            "which is asked for a product by key in the same rounds.",
            {DOCGATE: lambda _: choosing, BY_KEY: by_key_reading},
            [],
        ),
        Work(
            "checkout",
            "Whole checkout",
            "A cart is opened, five products are put into it by one request, and it becomes an order: three "
            "requests with seven mutations, counted as one. The products are free, so that no payment provider is "
            "asked. The peer does the same in one request and one multi-document transaction: once with as few "
            "statements as it takes, without a payment, and once with the same guarantees (idempotency key, "
            "owner, cart, order and payment as documents like docgate's with the same indexes, tags on the stock; "
            "prices are read).",
            {
                DOCGATE: lambda _: Flow("checkout", checkout),
                TRANSACTIONS: lambda _: Flow("checkoutByTransaction", {"skus": shelf.free}),
                ASSURED: lambda _: Flow("checkoutByTransaction", by_transaction),
            },
            [],
        ),
        Work(
            "paid",
            "Whole checkout, paid from the ledger",
            f"The same, but one of {len(shelf.accounts):,} accounts pays it to the merchant's, which all payments go "
            "to. The transaction with the same guarantees moves the money too.",
            paying({}),
            [],
        ),
        Work(
            "hot",
            "One hot SKU",
            "All check out one piece of the same product, paid from the ledger as above: three requests with three "
            "mutations, counted as one.",
            paying({"skus": keys.skus[:1], "lines": 1}),
            [],
        ),
        Work(
            "transfer",
            "Transfer",
            f"Money goes from one of {len(shelf.accounts):,} accounts to another, both random. The peer "
            "does it in one multi-document transaction: once bare, and once with the same guarantees (idempotency "
            "key, owner, tags on the accounts, a transfer like docgate's with the same indexes).",
            {
                DOCGATE: lambda _: transfer,
                TRANSACTIONS: lambda _: Request(["/transfer"], [0], [Column(by_key)]),
                ASSURED: lambda _: assured,
            },
            [],
        ),
        Work(
            "news",
            "News page",
            f"The last 20 posts of the news of one of {len(shelf.viewers)} viewers, each with a token of their own: text, time, number of "
            "comments, the author's name, and the last three comments with their authors' names. Each viewer follows "
            "200 of 1,000 authors with 30 posts each. docgate reads the copies that were delivered; no post here is of "
            "an author whose posts are merged in. The handler (`GET /news/VIEWER`, axum and the driver as above) joins "
            "when it reads: one `find_one` of a document that holds the list of the 200, one `find` by "
            "`{author: {$in: …}}`, by time, limit 20, with the index `{author: 1, at: -1}`, and one `find` of the users "
            "whose names it shows. Its posts are a collection of their own, which holds no more than the answer takes. "
            "The answers are compared whole. The handler checks no token, no circles (all posts are public) and no "
            "blocked users, and has no cursors. Neither tells a viewer's votes: no post has a poll. The last row of "
            "docgate is the same process, which is asked for a product by key in the same rounds.",
            {
                DOCGATE: lambda _: news,
                BY_KEY: by_key_reading,
                BARE: lambda _: joined,
            },
            [BARE],
        ),
        Work(
            "character",
            "Character",
            f"One of {len(world.characters):,} characters of the game, whole: the place with its exits, the ten characters and "
            "nine things there, what it wears and carries, from one document. The last row of docgate is the same process, which is "
            "asked for a product by key in the same rounds.",
            {
                DOCGATE: lambda _: looking,
                BY_KEY: by_key_reading,
            },
            [],
        ),
        Work(
            "giveGold",
            "Give gold",
            f"One of {len(world.characters):,} characters gives a piece of gold to another one at the same place. The peer does it in "
            "one multi-document transaction: once with as few statements as it takes, which are two guarded updates and a record, and "
            "once with the same guarantees (idempotency key, owner, both at one place, the limit of gold, versions, the same indexes, "
            "and the character in the answer).",
            {
                DOCGATE: lambda _: giving,
                TRANSACTIONS: lambda _: Request(["/gold"], [0], [Column(gifts_there)]),
                ASSURED: lambda _: surely_given,
            },
            [],
        ),
        Work(
            "pickUp",
            "Pick up",
            f"One of {len(world.characters):,} characters picks up a piece of the stack at its place, one of {game.PLACES}. The peer does "
            "it in one multi-document transaction: once with as few statements as it takes, which are two guarded updates and a record, "
            "without copies of places, and once with the same guarantees. That one brings the copies of a place in its ten characters up "
            "to date behind the answer, twice a second at most, as docgate does.",
            {
                DOCGATE: lambda _: picking,
                TRANSACTIONS: lambda _: Request(["/pick"], [0], [Column(picks_there)]),
                ASSURED: lambda _: surely_picked,
            },
            [],
        ),
    ]


#: Of the reads, in the words of the targets.
READS = {
    "product": "product by key",
    "page": "product page",
    "children": "category children",
    "catalog": "catalog page",
}
GAME = ["character", "giveGold", "pickUp"]
BROWSING = ["list", "suggest", "suggestAll", "facets"]
NAMES = [*READS, *BROWSING, "cart", "hit", "ads", "choose", "checkout", "paid", "hot", "transfer", "news", *GAME]
