#!/usr/bin/env python3
"""An old and a new gateway serve one database under load, as during a roll-out.

Usage: run.py NEW_BINARY OLD_BINARY MONGOD [SECONDS]

Eight callers open carts, add lines, check out, cancel carts and orders, raise and lower lines of orders, transfer
money and return it, comment, receive stock, and create and move categories. Each call goes to a random gateway, half
of the checkouts to two gateways at once, and most calls are repeated at a random gateway under the same idempotency
key: each has one outcome. Afterwards everything that was acknowledged is counted again, and the new binary's `docgate
check` has to find nothing. So far either gateway could be the one that stays: the roll-out can still be taken back. Then
the old gateway is stopped, `docgate migrate` upgrades the documents, and the new gateway and the check find them as before.
"""
import json, random, sys, threading, time, uuid

from servers import Servers

CALLERS, FUNDS, PRICE, STOCK = 8, 1_000_000, 100, 50_000
# The products, and the layouts of their discussions. EMBEDDED ends with a hundred comments.
SKUS = {"a": "PER_DOCUMENT", "b": "PER_DOCUMENT", "c": "PAGED", "d": "EMBEDDED"}
SHELVES = ["upper", "lower"]
# How long the gateways may finish what they have acknowledged, in seconds.
PATIENCE = 90


def key():
    return uuid.uuid4().hex


class Books:
    """What was acknowledged, and the faults found meanwhile."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers, self.faults = {}, []
        self.products, self.accounts, self.moved = {}, {}, {}
        self.received = {sku: STOCK for sku in SKUS}
        # By id: orders with the keys user, lines (the quantity of each SKU), paid and is_cancelled; comments with sku,
        # text and is_removed;
        # categories with parent and child.
        self.orders, self.comments, self.categories, self.shelves = {}, {}, {}, []
        self.cancelled_carts = []

    def tally(self, what):
        with self.lock:
            self.answers[what] = self.answers.get(what, 0) + 1

    def fault(self, *what):
        with self.lock:
            self.faults.append(" ".join(map(str, what)))


class Caller:
    """One signed-in user, who does one thing after the other."""

    def __init__(self, servers, books, user, seed):
        self.servers, self.books, self.user, self.rnd = servers, books, user, random.Random(seed)
        self.own_categories = []

    def work(self, end):
        deeds = [self.shop] * 6 + [self.transfer] * 2 + [self.comment] * 2 + [
            self.reverse, self.receive, self.categorize]
        while time.time() < end:
            try:
                self.rnd.choice(deeds)()
            except Exception as error:
                self.books.fault(self.user, "got an answer of another shape:", repr(error))

    def either(self):
        return self.rnd.choice(["new", "old"])

    def settle(self, expected, mutation, value, fields="", who=None, may=()):
        """The result of a mutation, or `None` if it is refused with one of `may`. Everything else is a fault."""
        answer = self.servers.settle(who or self.user, mutation, value, fields, self.rnd)
        if answer.get("__typename") == expected:
            self.books.tally(mutation)
            return answer
        kind = answer.get("__typename") or json.dumps(answer)[:300]
        self.books.tally(f"{mutation}: {kind}")
        if kind not in may:
            self.books.fault(f"{mutation} has no outcome or another one:", kind, value)
        return None

    def twice(self, expected, mutation, value, fields, who=None, may=()):
        """As `settle`, with a repeat that has to have the same result."""
        answers = [self.settle(expected, mutation, value, fields, who, may) for _ in range(2)]
        if answers[0] and answers[0] != answers[1]:
            self.books.fault(f"two outcomes of {mutation}:", *answers)
        return answers[0]

    def transfer(self):
        accounts = self.books.accounts
        other = self.rnd.choice([one for one in accounts if one != self.user])
        value = {"sourceId": accounts[self.user], "destinationId": accounts[other], "amount": 7,
                 "idempotencyKey": key()}
        if self.twice("Transfer", "transfer", value, "... on Transfer { id }"):
            with self.books.lock:
                self.books.moved[self.user] -= 7
                self.books.moved[other] += 7

    def reverse(self):
        """A transfer that is returned, so that no money has moved."""
        accounts = self.books.accounts
        other = self.rnd.choice([one for one in accounts if one != self.user])
        value = {"sourceId": accounts[self.user], "destinationId": accounts[other], "amount": 11,
                 "idempotencyKey": key()}
        made = self.settle("Transfer", "transfer", value, "... on Transfer { id }")
        if made:
            self.twice("Transfer", "reverseTransfer", {"transferId": made["id"]}, "... on Transfer { id }", "service")

    def comment(self):
        sku, text = self.rnd.choice(list(SKUS)), key()
        value = {"subjectId": self.books.products[sku], "text": text, "idempotencyKey": key()}
        made = self.twice("Comment", "postComment", value, "... on Comment { id }", may=["DiscussionFull"])
        if made:
            is_removed = self.rnd.random() < 0.2
            with self.books.lock:
                self.books.comments[made["id"]] = {"sku": sku, "text": text, "is_removed": is_removed}
            if is_removed:
                self.settle("Comment", "removeComment", {"commentId": made["id"]})

    def receive(self):
        sku = self.rnd.choice(list(SKUS))
        value = {"sku": sku, "quantity": 3, "idempotencyKey": key()}
        # The stock in the answers differs: others sell meanwhile.
        if self.twice("Stock", "receiveStock", value, "... on Stock { sku }", "merchant"):
            with self.books.lock:
                self.books.received[sku] += 3

    def categorize(self):
        """Creates a category with a child, unless there are enough of them, and moves one of the own with its child."""
        if len(self.own_categories) < 3 and not self.create_categories():
            return
        moved, shelf = self.rnd.choice(self.own_categories), self.rnd.choice(self.books.shelves)
        if self.settle("Category", "moveCategory", {"categoryId": moved, "parentId": shelf}, who="merchant"):
            self.books.categories[moved]["parent"] = shelf

    def create_categories(self):
        """Whether a category and its child were created."""
        shelf = parent = self.rnd.choice(self.books.shelves)
        made = []
        for _ in range(2):
            value = {"slug": "c" + key(), "names": [{"locale": "en", "name": "C"}], "parentId": parent,
                     "idempotencyKey": key()}
            answer = self.twice("Category", "createCategory", value, "... on Category { id }", "merchant")
            if not answer:
                return False
            parent = answer["id"]
            made.append(parent)
        with self.books.lock:
            self.books.categories[made[0]] = {"parent": shelf, "child": made[1]}
        self.own_categories.append(made[0])
        return True

    def shop(self):
        value = {"policy": self.rnd.choice(["RESERVE", "AT_CHECKOUT"]), "currency": "EUR"}
        cart = self.settle("Cart", "openCart", value, "... on Cart { id }")
        skus = self.rnd.sample(list(SKUS), 2)
        for sku in skus:
            value = {"cartId": cart["id"], "sku": sku, "quantity": 1, "idempotencyKey": key()}
            self.settle("Cart", "addCartLine", value)
        if self.rnd.random() < 0.15:
            if self.twice("Cart", "cancelCart", {"cartId": cart["id"]}, "... on Cart { id }"):
                with self.books.lock:
                    self.books.cancelled_carts.append(cart["id"])
        else:
            self.check_out(cart["id"], skus)

    def check_out(self, cart, skus):
        value = {"cartId": cart, "payment": {"accountId": self.books.accounts[self.user]}, "idempotencyKey": key(),
                 "shipping": {"name": "N", "street": "S 1", "city": "C", "country": "DE"}}
        fields, found = "... on Order { id total { minorUnits } }", []

        def checkout(gateway):
            answer = self.servers.call(gateway, self.user, "checkoutCart", value, fields)
            if answer.get("__typename") == "Order":
                self.books.tally(f"order of {gateway}")
                found.append((answer["id"], answer["total"]["minorUnits"]))
            else:
                self.books.tally(f"checkoutCart of {gateway}: {json.dumps(answer)[:150]}")

        calls = [threading.Thread(target=checkout, args=(self.either(),)) for _ in range(self.rnd.choice([1, 2]))]
        for call in calls: call.start()
        for call in calls: call.join()
        # What has no order yet is repeated until it has one: a repeat finds the outcome of the first call.
        if not found:
            answer = self.settle("Order", "checkoutCart", value, fields)
            if not answer:
                return
            found.append((answer["id"], answer["total"]["minorUnits"]))
        if len(set(found)) > 1:
            self.books.fault("two orders of one checkout:", found)
        with self.books.lock:
            for order, total in set(found):
                self.books.orders[order] = {"user": self.user, "lines": {sku: 1 for sku in skus}, "paid": total,
                                            "is_cancelled": False}
        order, fate = found[0][0], self.rnd.random()
        if fate < 0.25:
            self.adjust(order, self.rnd.choice(skus), self.rnd.choice([0, 2]))
        elif fate < 0.5:
            self.books.orders[order]["is_cancelled"] = True
            self.twice("Order", "cancelOrder", {"orderId": order, "idempotencyKey": key()}, "... on Order { id }")

    def adjust(self, order, sku, quantity):
        """Raises or lowers a line of one piece."""
        value = {"orderId": order, "sku": sku, "quantity": quantity, "idempotencyKey": key(),
                 "payment": {"accountId": self.books.accounts[self.user]}}
        if self.twice("Order", "adjustOrderLine", value, "... on Order { id }"):
            with self.books.lock:
                placed = self.books.orders[order]
                placed["lines"][sku] = quantity
                placed["paid"] += PRICE * max(0, quantity - 1)


def prepare(servers, books):
    for who, role in (("merchant", "merchant"), ("service", "service")):
        servers.sign_in(who, f"the-{who}", role)

    def made(who, mutation, value, fields="", gateway="new"):
        answer = servers.call(gateway, who, mutation, value, fields)
        if "error" in answer or "code" in answer:
            sys.exit(f"{mutation} at the {gateway} gateway: {answer}")
        return answer

    for sku, layout in SKUS.items():
        pricing = {"list": PRICE, "retail": PRICE, "currency": "EUR"}
        content = {"title": sku, "details": {"book": {}}}
        product = made("merchant", "createProduct", {"sku": sku, "content": content, "pricing": pricing},
                       "... on Node { id }")
        books.products[sku] = product["id"]
        made("merchant", "receiveStock", {"sku": sku, "quantity": STOCK}, gateway="old")
        made("merchant", "openDiscussion", {"subjectId": product["id"], "layout": layout}, gateway="old")
    for slug in SHELVES:
        value = {"slug": slug, "names": [{"locale": "en", "name": slug}]}
        books.shelves.append(made("merchant", "createCategory", value, "... on Category { id }")["id"])
    for user in (f"u{number}" for number in range(CALLERS)):
        servers.sign_in(user)
        account = made(user, "openAccount", {"currency": "EUR"}, "... on Account { id }")["id"]
        made("service", "deposit", {"accountId": account, "amount": FUNDS}, gateway="old")
        books.accounts[user], books.moved[user] = account, 0


def recount(servers, books):
    """The differences between what was acknowledged and what is there."""
    wrong = []

    def compare(what, found, expected):
        if found != expected:
            wrong.append(f"{what}: found {found}, expected {expected}")

    def money(amount):
        return {"minorUnits": amount}

    def total(order):
        return PRICE * sum(order["lines"].values())

    placed = [order for order in books.orders.values() if not order["is_cancelled"]]
    for id, order in books.orders.items():
        found = servers.node("old", order["user"], "Order", id,
                             "state total { minorUnits } refunded { minorUnits } lines { sku quantity }")
        if found and found.get("lines"):
            found["lines"].sort(key=lambda line: line["sku"])
        compare(f"acknowledged order {id}", found, {
            "state": "CANCELLED" if order["is_cancelled"] else "PLACED", "total": money(total(order)),
            "refunded": money(order["paid"] - (0 if order["is_cancelled"] else total(order))),
            "lines": [{"sku": sku, "quantity": count} for sku, count in sorted(order["lines"].items()) if count]})
    for id in books.cancelled_carts:
        found = servers.node("new", "service", "Cart", id, "state")
        compare(f"cancelled cart {id}", found, {"state": "CANCELLED"})
    for user, account in books.accounts.items():
        paid = sum(total(order) for order in placed if order["user"] == user)
        found = servers.node("new", user, "Account", account, "balance { minorUnits }")
        compare(f"account of {user}", found, {"balance": money(FUNDS - paid + books.moved[user])})
    for sku, received in books.received.items():
        sold = sum(order["lines"].get(sku, 0) for order in placed)
        found = servers.send("old", "merchant", "query($sku: ID!) { stock(sku: $sku) { "
                             "received sold reserved available } }", sku=sku)
        compare(f"stock of {sku}", found,
                {"received": received, "sold": sold, "reserved": 0, "available": received - sold})
        found = servers.send("old", "merchant", "query($id: ID!) { node(id: $id) { ... on Product { "
                             "discussion { commentCount } } } }", id=books.products[sku])
        count = sum(comment["sku"] == sku and not comment["is_removed"] for comment in books.comments.values())
        compare(f"discussion of {sku}", found, {"discussion": {"commentCount": count}})
    for id, comment in books.comments.items():
        found = servers.node("old", "merchant", "Comment", id, "text")
        compare(f"comment {id}", found, {"text": None if comment["is_removed"] else comment["text"]})
    for id, category in books.categories.items():
        found = servers.node("old", "merchant", "Category", id, "parentId path")
        compare(f"category {id}", found and found.get("parentId"), category["parent"])
        child = servers.node("new", "merchant", "Category", category["child"], "parentId parentPath")
        compare(f"child of category {id}", child, {"parentId": id, "parentPath": found and found.get("path")})
    return wrong


def violations(servers):
    """What `docgate check` finds."""
    check = servers.run("check")
    if not check.returncode:
        return []
    broken = [line for line in check.stdout.splitlines() if not line.startswith("✓")]
    return ["\n".join(["docgate check:", *broken[:50], check.stderr[-1000:]])]


def migrate(servers, books):
    """Ends the roll-out: upgrades the documents once the old gateway has stopped. Returns what is wrong afterwards."""
    servers.stop("old")
    wrong = []
    for expected in (len(SKUS), 0):
        done = servers.run("migrate")
        print(done.stdout.strip())
        if done.returncode or f"inventory: {expected} upgraded" not in done.stdout:
            wrong.append(f"docgate migrate ends with {done.returncode}: {done.stdout} {done.stderr[-1000:]}")
    for sku, received in books.received.items():
        answer = servers.call("new", "merchant", "receiveStock", {"sku": sku, "quantity": 1, "idempotencyKey": key()},
                              "... on Stock { received }")
        if answer.get("received") != received + 1:
            wrong.append(f"stock of {sku} after the migration: {answer}, expected {received + 1}")
    return wrong + violations(servers)


def main(new_binary, old_binary, mongod, seconds="20"):
    books = Books()
    with Servers(new_binary, old_binary, mongod) as servers:
        prepare(servers, books)
        end = time.time() + float(seconds)
        callers = [Caller(servers, books, user, number) for number, user in enumerate(books.accounts)]
        threads = [threading.Thread(target=caller.work, args=(end,)) for caller in callers]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        for what, count in sorted(books.answers.items(), key=lambda answer: -answer[1]):
            print(count, what)
        for needed in ("order of new", "order of old", "cancelOrder", "adjustOrderLine", "cancelCart", "transfer",
                       "reverseTransfer", "postComment", "receiveStock", "moveCategory"):
            if not books.answers.get(needed):
                books.fault("none made:", needed)
        until = time.time() + PATIENCE
        while (wrong := recount(servers, books)) and time.time() < until:
            time.sleep(3)
        wrong += violations(servers) + migrate(servers, books)
        faults = books.faults + wrong
        servers.is_fine = not faults
        print(f"{len(books.orders)} orders, {len(books.comments)} comments, {len(books.categories)} categories; "
              f"{len(faults)} faults")
        print("\n".join(faults[:20]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
