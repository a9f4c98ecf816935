"""What the callers of the roll-out test do, and the books in which they keep what was acknowledged."""
import contextlib, json, random, threading, uuid

CALLERS, FUNDS, PRICE, STOCK = 8, 1_000_000, 100, 50_000
# The products, and the layouts of their discussions. EMBEDDED ends with a hundred comments.
SKUS = {"a": "PER_DOCUMENT", "b": "PER_DOCUMENT", "c": "PAGED", "d": "EMBEDDED"}
SITE, PAGES = "roll.example", ["/", "/music", "/music/jazz"]


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
        # Page views by page, and how often both gateways were asked for one checkout at once.
        self.views, self.contested = dict.fromkeys(PAGES, 0), 0
        # One permit for each call that counts page views, see `no_views`.
        self.counting = threading.Semaphore(CALLERS)

    @contextlib.contextmanager
    def no_views(self):
        """Waits until no page views are being counted, and lets nobody count any. A `recordHits` without an idempotency
        key that is cut may have counted a part of them, and its caller can't repeat it."""
        for _ in range(CALLERS):
            self.counting.acquire()
        try:
            yield
        finally:
            self.counting.release(CALLERS)

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
        """Does one thing after the other until the end is set."""
        deeds = [self.shop] * 6 + [self.transfer] * 2 + [self.comment] * 2 + [self.view] * 2 + [
            self.reverse, self.receive, self.categorize]
        while not end.is_set():
            try:
                self.rnd.choice(deeds)()
            except Exception as error:
                self.books.fault(self.user, "got an answer of another shape:", repr(error))

    def either(self):
        return self.rnd.choice(self.servers.serving)

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

    def view(self):
        """Page views, which a random gateway counts. Such a call isn't repeated."""
        pages = [self.rnd.choice(PAGES) for _ in range(self.rnd.randint(1, 3))]
        value = {"hits": [{"site": SITE, "page": page} for page in pages]}
        with self.books.counting:
            gateway = self.either()
            answer = self.servers.call(gateway, "service", "recordHits", value, "... on HitsRecorded { count }")
        if answer.get("count") != len(pages):
            return self.books.fault(f"recordHits of {gateway}:", json.dumps(answer)[:300])
        self.books.tally(f"recordHits of {gateway}")
        with self.books.lock:
            for page in pages:
                self.books.views[page] += 1

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
        if not cart:
            return
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
            serving = " and ".join(self.servers.serving)
            answer = self.servers.call(gateway, self.user, "checkoutCart", value, fields)
            if answer.get("__typename") == "Order":
                self.books.tally(f"order of {gateway} while {serving} served")
                found.append((answer["id"], answer["total"]["minorUnits"]))
            else:
                self.books.tally(f"checkoutCart of {gateway}: {json.dumps(answer)[:150]}")

        gateways = [self.either() for _ in range(self.rnd.choice([1, 2]))]
        with self.books.lock:
            self.books.contested += len(set(gateways)) == 2
        calls = [threading.Thread(target=checkout, args=(gateway,)) for gateway in gateways]
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
