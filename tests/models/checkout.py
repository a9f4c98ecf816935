"""The model of the checkout without a claim. `README.md` beside it describes the protocol and the rules."""

from typing import NamedTuple

SKUS = (0, 1)
NAMES = "AB"


class World(NamedTuple):
    """What MongoDB stores."""

    carts: tuple  # Cart of each cart
    stock: tuple  # Stock of each SKU
    payer: tuple  # (balance, marks of holds, marks of refunds)
    merchant: tuple  # (balance, marks of credits)
    orders: tuple  # ((tag, state), ...), one per inserted document
    payments: tuple  # ((tag, state), ...)
    voucher: tuple | None = None  # (uses left, {(tag, state)}, uses spent)


class Cart(NamedTuple):
    state: str
    tag: tuple | None  # the checkout that decided
    lines: tuple  # (quantity, held) of each SKU
    void: frozenset  # aborted tags
    ops: frozenset  # committed changes of lines
    voucher: bool = False  # it has the voucher
    spends: bool = False  # its decision takes the discount off


class Stock(NamedTuple):
    available: int
    sold: int
    entries: tuple  # Entry of each cart
    restocks: frozenset


class Entry(NamedTuple):
    quantity: int
    takes: frozenset  # {(tag, quantity)}
    gifts: frozenset  # {tag}


class Run(NamedTuple):
    """One attempt: a caller or a sweep."""

    kind: str
    cart: int
    key: str
    alive: bool = True  # the deadline hasn't passed
    todo: tuple | None = None  # commands still to be sent; None before the first read
    tag: tuple | None = None
    lines: tuple | None = None  # as read
    told: str | None = None  # what the client was told
    tries: int = 0
    waits: tuple | None = None  # (position in the log, run once the position is majority-committed)
    twice: frozenset = frozenset()  # commands that were sent twice
    took: bool = True  # it took everything of its tag itself
    voucher: bool = False  # as read


class State(NamedTuple):
    world: World
    runs: tuple
    flights: int  # how many more commands may get lost on their way and land later
    landing: tuple  # ((run number, command), ...)
    elections: int
    log: tuple  # earlier worlds, oldest = majority-committed; empty if the present one is committed
    fault: str | None = None


def total(lines, spends=False):
    """The price of the lines. The voucher takes one off."""
    return sum(quantity for quantity, _ in lines) - spends


RULES = {
    "dup-first": "a statement looks for its own tag before anything else",
    "take-deadline": "a take of stock isn't applied after the attempt's deadline",
    "hold-deadline": "a hold of money isn't applied after the attempt's deadline",
    "sell-deadline": "a sale isn't applied after the attempt's deadline",
    "credit-deadline": "a credit isn't applied after the attempt's deadline",
    "void-first": "a tag is voided on the cart before anything of it is released",
    "void-guard": "the decision is refused if its tag is void",
    "void-loses": "a void is refused if its tag has decided",
    "active-guard": "the decision is refused unless the cart is ACTIVE",
    "line-guard": "the decision is refused unless lines and total are as read",
    "close-guard": "a cart is closed (expired, cancelled) only while it is ACTIVE",
    "own-tag": "callers with different idempotency keys use different tags",
    "new-tag": "the try after a void uses another tag",
    "own-lines": "an attempt that reads other lines uses another tag",
    "order-id": "the order's _id is derived from the tag",
    "one-mark": "a sale leaves a mark with the tag of the take until it is retired",
    "hold-mark": "the payer's mark of a hold stays until it is retired",
    "complete-last": "COMPLETE is written after goods and money moved",
    "one-seller": "only the attempt that inserted the payment, or a sweep, sells",
    "forget-take": "an attempt of which a take was sent twice forgets no reservation",
    "forget-sell": "an attempt of which a sale was sent twice forgets no reservation",
    "forget-took": "an attempt forgets a reservation only if it took everything of the tag itself",
    "forget-own": "an attempt forgets a reservation only if it completed the cart itself",
    "forget-deadline": "a reservation isn't forgotten after the attempt's deadline",
    "forget-empty": "only an empty reservation is forgotten",
    "sweep-waits": "the sweep acts only when no attempt can still write",
    "retire-waits": "marks are retired only when no attempt can still write",
    "sweep-holds": "the sweep releases holds whose tag decided nothing",
    "sweep-paid": "the sweep carries on with PAID carts",
    "sweep-ended": "the sweep returns what a cart in a final state still holds",
    "refund-waits": "a refund waits until the payment is credited",
    "refund-mark": "a refund is remembered by its receiver",
    "restock-mark": "a restock is remembered by the stock",
    "restock-waits": "a restock waits until as much is sold",
    "voucher-deadline": "a reserve of a voucher isn't applied after the attempt's deadline",
    "voucher-guard": "the decision is refused unless the cart's voucher is as read",
    "voucher-mark": "a spent use of a voucher leaves a mark until it is retired",
    "sweep-vouchers": "the sweep releases reserves of a voucher whose tag decided nothing",
    "return-mark": "a use that is given back is remembered by the voucher",
    "return-waits": "a use is given back only once it is spent",
    "majority-reserve": "reserves of a voucher are acknowledged by a majority before the decision is sent",
    "majority-take": "takes are acknowledged by a majority before the decision is sent",
    "majority-hold": "holds are acknowledged by a majority before the decision is sent",
    "majority-decide": "the decision is acknowledged by a majority before anything follows",
    "majority-void": "a void is acknowledged by a majority before the release is sent",
    "majority-order": "the order is acknowledged by a majority before the client is told",
    "majority-verdict": "a void that is told that its tag has decided goes on when a majority has the decision",
    "majority-read": "an attempt begins with a majority read",
}

# The rule of each command that has to be majority-written before the next one is sent.
MAJORITY = {"reserve": "majority-reserve", "take": "majority-take", "hold": "majority-hold", "decide": "majority-decide", "void": "majority-void",
            "order": "majority-order", "payment": "majority-order"}


class Checkout:
    """One configuration: what is stored at first, who calls, which faults are possible, which rules are off."""

    def __init__(self, runs, lines=(((2, 0), (1, 0)),), stock=(2, 1), balance=3, flights=0, elections=0,
                 parallel=False, unit=((0, 1),), begun=False, voucher=None, off=()):
        unknown = set(off) - set(RULES)
        if unknown:
            raise ValueError(f"no such rule: {unknown}")
        self.calls, self.lines, self.received, self.money = runs, lines, stock, balance
        self.flights, self.elections, self.parallel, self.off = flights, elections, parallel, frozenset(off)
        self.change = unit[0]
        # Whether an attempt of key "a" has taken goods and money for cart 0, and stopped before the decision.
        self.begun = begun
        # Uses of the voucher that every cart has; None without one.
        self.uses = voucher

    def on(self, rule):
        return rule not in self.off

    def initial(self):
        carts = tuple(Cart("ACTIVE", None, lines, frozenset(), frozenset(), self.uses is not None) for lines in self.lines)
        stock = []
        for sku in SKUS:
            held = [lines[sku][1] for lines in self.lines]
            entries = tuple(Entry(some, frozenset(), frozenset()) for some in held)
            stock.append(Stock(self.received[sku] - sum(held), 0, entries, frozenset()))
        empty = frozenset()
        voucher = None if self.uses is None else (self.uses, empty, 0)
        world = World(carts, tuple(stock), (self.money, empty, empty), (0, empty), (), (), voucher)
        if self.begun:
            *reserves, _ = self.begin_checkout(carts[0], Run("checkout", 0, "a")).todo
            for reserve in reserves:
                world, _ = self.apply(world, reserve, True)
        runs = tuple(Run(*call) for call in self.calls)
        return State(world, runs, self.flights, (), self.elections, ())

    # ---- the statements: each is atomic, and changes one document ----

    def apply(self, world, command, alive):
        """Returns the world after the statement, and its verdict."""
        return getattr(self, "do_" + command[0].replace("-", "_"))(world, alive, *command[1:])

    @staticmethod
    def _cart(world, number, **change):
        carts = list(world.carts)
        carts[number] = carts[number]._replace(**change)
        return world._replace(carts=tuple(carts))

    @staticmethod
    def _stock(world, sku, number, available=0, sold=0, restocks=None, **change):
        old = world.stock[sku]
        entries = list(old.entries)
        if change:
            entries[number] = entries[number]._replace(**change)
        restocks = old.restocks if restocks is None else restocks
        stock = list(world.stock)
        stock[sku] = Stock(old.available + available, old.sold + sold, tuple(entries), restocks)
        return world._replace(stock=tuple(stock))

    def do_take(self, world, alive, number, sku, tag, quantity):
        stock = world.stock[sku]
        entry = stock.entries[number]
        has = any(mark == tag for mark, _ in entry.takes) or (tag in entry.gifts and self.on("one-mark"))
        if has and self.on("dup-first"):
            return world, "dup"
        if not alive and self.on("take-deadline"):
            return world, "late"
        if stock.available < quantity:
            return world, "short of its own" if has else "short"
        if has:
            return world, "dup"
        takes = entry.takes | {(tag, quantity)}
        after = self._stock(world, sku, number, -quantity, quantity=entry.quantity + quantity, takes=takes)
        return after, "ok"

    def do_release(self, world, _, number, sku, tag):
        entry = world.stock[sku].entries[number]
        quantity = sum(some for mark, some in entry.takes if mark == tag)
        if not quantity:
            return world, "none"
        takes = frozenset(take for take in entry.takes if take[0] != tag)
        return self._stock(world, sku, number, quantity, quantity=entry.quantity - quantity, takes=takes), "ok"

    def do_hold(self, world, alive, _, tag, amount):
        balance, holds, refunds = world.payer
        has = any(mark == tag for mark, _ in holds)
        if has and self.on("dup-first"):
            return world, "dup"
        if not alive and self.on("hold-deadline"):
            return world, "late"
        if balance < amount:
            return world, "short of its own" if has else "short"
        if has:
            return world, "dup"
        return world._replace(payer=(balance - amount, holds | {(tag, amount)}, refunds)), "ok"

    def do_unhold(self, world, _, __, tag):
        balance, holds, refunds = world.payer
        amount = sum(some for mark, some in holds if mark == tag)
        if not amount:
            return world, "none"
        holds = frozenset(hold for hold in holds if hold[0] != tag)
        return world._replace(payer=(balance + amount, holds, refunds)), "ok"

    def do_reserve(self, world, alive, _, tag):
        left, marks, spent = world.voucher
        has = any(mark == tag for mark, _ in marks)
        if has and self.on("dup-first"):
            return world, "dup"
        if not alive and self.on("voucher-deadline"):
            return world, "late"
        if left < 1:
            return world, "short of its own" if has else "short"
        if has:
            return world, "dup"
        return world._replace(voucher=(left - 1, marks | {(tag, "RESERVED")}, spent)), "ok"

    def do_unreserve(self, world, _, __, tag):
        left, marks, spent = world.voucher
        if (tag, "RESERVED") not in marks:
            return world, "none"
        return world._replace(voucher=(left + 1, marks - {(tag, "RESERVED")}, spent)), "ok"

    def do_spend(self, world, alive, _, tag):
        left, marks, spent = world.voucher
        if (tag, "RESERVED") not in marks:
            return world, "dup"
        if not alive:
            return world, "late"
        marks -= {(tag, "RESERVED")}
        marks |= {(tag, "SPENT")} if self.on("voucher-mark") else set()
        return world._replace(voucher=(left, marks, spent + 1)), "ok"

    def do_give_back(self, world, alive, _, tag):
        left, marks, spent = world.voucher
        if (tag, "RETURNED") in marks:
            return world, "dup"
        if not alive:
            return world, "late"
        if spent < 1 and self.on("return-waits"):
            return world, "later"
        marks |= {(tag, "RETURNED")} if self.on("return-mark") else set()
        return world._replace(voucher=(left + 1, marks, spent - 1)), "ok"

    def do_unapply(self, world, alive, number):
        if not alive or world.carts[number].state != "ACTIVE":
            return world, "refused"
        return self._cart(world, number, voucher=False), "ok"

    def do_decide(self, world, alive, number, tag, lines, voucher):
        cart = world.carts[number]
        if cart.tag == tag:
            return world, "dup"
        if not alive:
            return world, "late"
        if cart.state != "ACTIVE" and self.on("active-guard"):
            return world, "refused"
        if tag in cart.void and self.on("void-guard"):
            return world, "refused"
        if cart.lines != lines and self.on("line-guard"):
            return world, "refused"
        if cart.voucher != voucher and self.on("voucher-guard"):
            return world, "refused"
        return self._cart(world, number, state="PAID", tag=tag, spends=voucher), "ok"

    def do_void(self, world, _, number, tag):
        cart = world.carts[number]
        if (cart.tag == tag or tag in cart.ops) and self.on("void-loses"):
            return world, "decided"
        return self._cart(world, number, void=cart.void | {tag}), "ok"

    def do_order(self, world, _, __, tag):
        if self.on("order-id") and any(mark == tag for mark, _ in world.orders):
            return world, "dup"
        return world._replace(orders=world.orders + ((tag, "PLACED"),)), "ok"

    def do_payment(self, world, _, __, tag):
        if any(mark == tag for mark, _ in world.payments):
            return world, "dup"
        return world._replace(payments=world.payments + ((tag, "COMMITTED"),)), "ok"

    def do_sell(self, world, alive, number, sku, tag, quantity):
        entry = world.stock[sku].entries[number]
        if tag in entry.gifts:
            return world, "dup"
        if not alive and self.on("sell-deadline"):
            return world, "late"
        if entry.quantity < quantity:
            return world, "refused"
        takes = frozenset(take for take in entry.takes if take[0] != tag)
        return self._stock(world, sku, number, sold=quantity, quantity=entry.quantity - quantity, takes=takes,
                           gifts=entry.gifts | {tag}), "ok"

    def do_credit(self, world, alive, _, tag, amount):
        balance, marks = world.merchant
        if tag in marks:
            return world, "dup"
        if not alive and self.on("credit-deadline"):
            return world, "late"
        world = world._replace(merchant=(balance + amount, marks | {tag}))
        if self.on("hold-mark"):
            return world, "ok"
        holds = frozenset(hold for hold in world.payer[1] if hold[0] != tag)
        return world._replace(payer=(world.payer[0], holds, world.payer[2])), "ok"

    def do_credited(self, world, _, __, tag):
        payments = tuple((mark, "CREDITED" if mark == tag and state == "COMMITTED" else state)
                         for mark, state in world.payments)
        return world._replace(payments=payments), "ok"

    def do_complete(self, world, _, number, tag):
        cart = world.carts[number]
        if cart.state == "PAID" and cart.tag == tag:
            return self._cart(world, number, state="COMPLETE"), "ok"
        return world, "refused"

    def do_forget(self, world, alive, number, sku, _):
        if not alive and self.on("forget-deadline"):
            return world, "late"
        if world.stock[sku].entries[number].quantity and self.on("forget-empty"):
            return world, "refused"
        nothing = frozenset()
        return self._stock(world, sku, number, quantity=0, takes=nothing, gifts=nothing), "ok"

    def do_retire(self, world, _, number, tag):
        """The last step of a checkout; one step here, one command per document in the gateway."""
        for sku in SKUS:
            entry = world.stock[sku].entries[number]
            world = self._stock(world, sku, number, gifts=entry.gifts - {tag})
        balance, holds, refunds = world.payer
        holds = frozenset(hold for hold in holds if hold[0] != tag)
        merchant = (world.merchant[0], world.merchant[1] - {tag})
        if world.voucher:
            left, marks, spent = world.voucher
            world = world._replace(voucher=(left, marks - {(tag, "SPENT")}, spent))
        return world._replace(payer=(balance, holds, refunds), merchant=merchant), "ok"

    def do_surplus(self, world, _, number, sku, read):
        """Returns everything that an ended cart still holds, if the entry is as it was read."""
        entry = world.stock[sku].entries[number]
        if entry != read:
            return world, "refused"
        return self._stock(world, sku, number, entry.quantity, quantity=0, takes=frozenset()), "ok"

    def do_close(self, world, alive, number):
        if not alive:
            return world, "late"
        if world.carts[number].state != "ACTIVE" and self.on("close-guard"):
            return world, "refused"
        return self._cart(world, number, state="CLOSING"), "ok"

    def do_closed(self, world, _, number):
        if world.carts[number].state != "CLOSING":
            return world, "refused"
        return self._cart(world, number, state="CLOSED"), "ok"

    def do_add(self, world, alive, number, sku, tag, quantity):
        cart = world.carts[number]
        if tag in cart.ops:
            return world, "dup"
        if not alive or cart.state != "ACTIVE" or tag in cart.void:
            return world, "refused"
        lines = list(cart.lines)
        lines[sku] = (lines[sku][0] + quantity, lines[sku][1] + quantity)
        return self._cart(world, number, lines=tuple(lines), ops=cart.ops | {tag}), "ok"

    def do_lower(self, world, alive, number, sku, read):
        cart = world.carts[number]
        if not alive or cart.state != "ACTIVE" or cart.lines[sku] != read:
            return world, "refused"
        lines = list(cart.lines)
        lines[sku] = (read[0] - 1, read[1])
        return self._cart(world, number, lines=tuple(lines)), "ok"

    def do_cancel(self, world, alive, _, tag):
        if not alive:
            return world, "late"
        return self._order(world, tag, "PLACED", "CANCELLING")

    def do_cancelled(self, world, _, __, tag):
        return self._order(world, tag, "CANCELLING", "CANCELLED")

    @staticmethod
    def _order(world, tag, before, after):
        if (tag, before) not in world.orders:
            return world, "refused"
        return world._replace(orders=tuple((tag, after) if order == (tag, before) else order
                                           for order in world.orders)), "ok"

    def do_restock(self, world, alive, number, sku, tag, quantity):
        stock = world.stock[sku]
        if tag in stock.restocks:
            return world, "dup"
        if not alive:
            return world, "late"
        if stock.sold < quantity and self.on("restock-waits"):
            return world, "later"
        marks = stock.restocks | {tag} if self.on("restock-mark") else stock.restocks
        return self._stock(world, sku, number, quantity, -quantity, marks), "ok"

    def do_refund(self, world, alive, _, tag, amount):
        """A refund is a transfer of its own, with the protocol of transfers; one step here."""
        balance, holds, refunds = world.payer
        if tag in refunds:
            return world, "dup"
        if not alive:
            return world, "late"
        state = dict(world.payments).get(tag)
        if self.on("refund-waits") and (state != "CREDITED" or world.merchant[0] < amount):
            return world, "later"
        marks = refunds | {tag} if self.on("refund-mark") else refunds
        return world._replace(payer=(balance + amount, holds, marks),
                              merchant=(world.merchant[0] - amount, world.merchant[1])), "ok"

    # ---- the flows: which statement follows which ----

    def forward(self, number, tag, lines, spends):
        """What a paid checkout owes."""
        complete = ("complete", number, tag)
        sales = [("sell", number, sku, tag, lines[sku][0]) for sku in SKUS if lines[sku][0]]
        sales += [("spend", number, tag)] if spends else []
        money = [("credit", number, tag, total(lines, spends)), ("credited", number, tag)]
        written = [("order", number, tag), ("payment", number, tag)]
        last = [complete] if self.on("complete-last") else []
        return tuple(written + ([] if last else [complete]) + sales + money + last)

    def undoing(self, number, tag):
        uses = () if self.uses is None else (("unreserve", number, tag),)
        return uses + tuple(("release", number, sku, tag) for sku in SKUS) + (("unhold", number, tag),)

    def abort(self, number, tag):
        void = (("void", number, tag),)
        return (void if self.on("void-first") else ()) + self.undoing(number, tag)

    def returning(self, world, number, tag):
        """What a cancelled order owes."""
        lines, spends = world.carts[number].lines, world.carts[number].spends
        restocks = [("restock", number, sku, tag, lines[sku][0]) for sku in SKUS if lines[sku][0]]
        restocks += [("give_back", number, tag)] if spends else []
        return tuple(restocks) + (("refund", number, tag, total(lines, spends)), ("cancelled", number, tag))

    def closing(self, world, number):
        entries = [(sku, world.stock[sku].entries[number]) for sku in SKUS]
        surplus = [("surplus", number, sku, entry) for sku, entry in entries if entry.quantity or entry.takes]
        return tuple(surplus) + (() if surplus else (("closed", number),))

    def begin(self, world, run):
        """The run after its first read, or None if there is nothing to do for it."""
        number = run.cart
        cart = world.carts[number]
        match run.kind:
            case "checkout":
                return self.begin_checkout(cart, run)
            case "add":
                tag = (number, "add", 0)
                if cart.state != "ACTIVE":
                    return run._replace(todo=(), told="refused")
                sku, quantity = self.change
                commands = (("take", number, sku, tag, quantity), ("add", number, sku, tag, quantity))
                return run._replace(todo=commands, tag=tag)
            case "lower":
                sku = self.change[0]
                return run._replace(todo=(("lower", number, sku, cart.lines[sku]),))
            case "unapply":
                return run._replace(todo=(("unapply", number),))
            case "close":
                if cart.state not in ("ACTIVE", "CLOSING") and self.on("close-guard"):
                    return run._replace(todo=())
                return run._replace(todo=(("close", number),))
            case "cancel":
                tag = cart.tag
                if tag is None or (tag, "PLACED") not in world.orders:
                    return None
                return run._replace(tag=tag, todo=(("cancel", number, tag),))
        raise AssertionError(run.kind)

    def begin_checkout(self, cart, run):
        number, key = run.cart, run.key if self.on("own-tag") else "k"
        if cart.tag is not None:
            if cart.tag[1] != key:
                return run._replace(todo=(), told="refused")
            if cart.state == "COMPLETE":
                return run._replace(todo=(), told="order", tag=cart.tag)
            forward = self.forward(number, cart.tag, cart.lines, cart.spends)
            return run._replace(todo=forward, tag=cart.tag, lines=cart.lines, took=False, voucher=cart.spends)
        if cart.state != "ACTIVE":
            return run._replace(todo=(), told="refused")
        tried = sum(tag[1] == key for tag in cart.void) if self.on("new-tag") else 0
        tag = (number, key, tried, (cart.lines, cart.voucher) if self.on("own-lines") else ())
        if tag in cart.void:
            return run._replace(todo=(), told="void")
        missing = [(sku, quantity - held) for sku, (quantity, held) in enumerate(cart.lines)]
        takes = [("take", number, sku, tag, some) for sku, some in missing if some]
        uses = [("reserve", number, tag)] if cart.voucher else []
        hold = ("hold", number, tag, total(cart.lines, cart.voucher))
        decide = ("decide", number, tag, cart.lines, cart.voucher)
        return run._replace(todo=(*uses, *takes, hold, decide), tag=tag, lines=cart.lines, tries=run.tries + 1,
                            voucher=cart.voucher)

    def following(self, world, run, command, verdict):
        """The run after the verdict on its command."""
        what, number = command[0], command[1]
        rest = tuple(other for other in run.todo if other != command)
        on = run._replace(todo=rest)
        stop = run._replace(todo=())
        if verdict == "late":
            return stop
        if what == "take" and verdict == "dup":
            on = on._replace(took=False)
        if what in ("reserve", "take", "hold", "decide", "add") and verdict not in ("ok", "dup"):
            told = "short" if verdict.startswith("short") else None
            # Told when everything is undone.
            if run.kind == "add":
                return run._replace(todo=(("void", number, run.tag), ("release", number, command[2], run.tag)))
            return run._replace(todo=self.abort(number, run.tag), lines=(told,))
        if what == "decide":
            return run._replace(todo=self.forward(number, run.tag, run.lines, run.voucher))
        if what == "void":
            if verdict == "ok":
                return on
            cart = world.carts[number]
            if run.kind in ("checkout", "sweep") and cart.tag == command[2]:
                forward = self.forward(number, cart.tag, cart.lines, cart.spends)
                return run._replace(todo=forward, lines=cart.lines, tag=cart.tag, took=False, voucher=cart.spends)
            return stop
        if what == "unhold" and run.kind == "checkout" and not rest:
            # Nothing was lacking, so the cart has changed: read again.
            if run.lines == (None,) and run.tries < 2 and run.alive:
                return run._replace(todo=None, lines=None)
            return run._replace(todo=(), told="refused")
        if what == "payment" and run.kind == "checkout":
            carries_on = verdict == "ok" or not self.on("one-seller")
            return (on if carries_on else stop)._replace(told="order")
        if what == "sell" and verdict == "refused":
            return stop
        if what == "complete" and not self.on("retire-waits"):
            return on._replace(todo=(*rest, ("retire", number, command[2])))
        if what == "complete" and run.kind == "checkout" and self.may_forget(run, verdict):
            forgets = [("forget", number, sku, command[2]) for sku in SKUS if run.lines[sku][0]]
            return on._replace(todo=(*rest, *forgets))
        if what in ("restock", "give_back", "refund") and verdict == "later":
            return stop
        if what == "cancel":
            return on._replace(todo=self.returning(world, number, command[2])) if verdict == "ok" else stop
        if what == "close":
            if verdict != "ok":
                return stop
            return on._replace(todo=self.closing(world, number))
        return on

    def may_forget(self, run, verdict):
        """Whether the attempt forgets its reservations after this verdict on the completion of the cart."""
        is_once = not any(self.on("forget-" + what) for what in run.twice)
        is_own = verdict == "ok" or not self.on("forget-own")
        return is_once and is_own and (run.took or not self.on("forget-took"))

    # ---- the sweep ----

    def is_quiet(self, state, me):
        """Whether two grace periods have passed since the last change: whoever began before can't write any more."""
        flying = {number for number, _ in state.landing}
        return all(number == me or run.todo is None or not run.alive
                   or (run.todo == () and number not in flying) or run.kind == "sweep" and run.todo is None
                   for number, run in enumerate(state.runs))

    def due(self, world, quiet):
        """What a sweep does next, as commands; None if there is nothing left to do."""
        if self.on("sweep-waits") and not quiet:
            return None
        for number, cart in enumerate(world.carts):
            if cart.state == "PAID" and self.on("sweep-paid"):
                return self.forward(number, cart.tag, cart.lines, cart.spends)
            if cart.state == "CLOSING":
                return self.closing(world, number)
            decided = cart.ops | ({cart.tag} if cart.tag else set())
            for sku in SKUS:
                entry = world.stock[sku].entries[number]
                for tag, _ in sorted(entry.takes):
                    if tag in decided and (cart.state == "ACTIVE" or tag == cart.tag and cart.state == "PAID"):
                        continue
                    if tag not in decided:
                        if tag[1] == "add":
                            void = (("void", number, tag),) if self.on("void-first") else ()
                            return (*void, ("release", number, sku, tag))
                        return self.abort(number, tag)
                ended = cart.state in ("COMPLETE", "CLOSED") and self.on("sweep-ended")
                if ended and (entry.quantity or entry.takes):
                    return (("surplus", number, sku, entry),)
            for tag, _ in sorted(world.payer[1]):
                if tag[0] == number and tag != cart.tag and self.on("sweep-holds"):
                    return self.abort(number, tag)
            for tag, state in sorted(world.voucher[1] if world.voucher else ()):
                if tag[0] == number and state == "RESERVED" and self.on("sweep-vouchers"):
                    return (("spend", number, tag),) if tag == cart.tag else self.abort(number, tag)
            if cart.state == "COMPLETE":
                tag = cart.tag
                if (tag, "CANCELLING") in world.orders:
                    return self.returning(world, number, tag)
                marked = any(tag in stock.entries[number].gifts for stock in world.stock)
                marked = marked or world.voucher and (tag, "SPENT") in world.voucher[1]
                if marked or tag in world.merchant[1] or any(mark == tag for mark, _ in world.payer[1]):
                    return (("retire", number, tag),)
        return None

    # ---- the steps of the whole ----

    def successors(self, state):
        for me, run in enumerate(state.runs):
            if run.waits is None:
                yield from self.steps(state, me, run)
            if run.alive and run.todo is not None and (run.todo or any(me == number for number, _ in state.landing)):
                waits = run.waits and (run.waits[0], run.waits[1]._replace(alive=False))
                overdue = run._replace(alive=False, waits=waits)
                yield f"{self.name(me, run)}: the deadline passes", self.with_run(state, me, overdue)
        for index, (me, command) in enumerate(state.landing):
            after, verdict = self.apply(state.world, command, state.runs[me].alive)
            landing = state.landing[:index] + state.landing[index + 1:]
            written = self.written(state, after)._replace(landing=landing)
            yield f"{self.text(command)} lands late: {verdict}", written
        if state.log:
            runs = tuple(run.waits[1] if run.waits else run for run in state.runs)
            yield "a majority has everything", state._replace(log=(), runs=runs)
            # The runs whose write is lost learn nothing: each sends it again.
            for kept, world in enumerate(state.log):
                runs = tuple(run if run.waits is None else run.waits[1] if run.waits[0] <= kept
                             else self.repeated(run)._replace(waits=None) for run in state.runs)
                lost = len(state.log) - kept
                yield f"an election loses the last {lost} writes", state._replace(
                    world=world, log=(), elections=state.elections - 1, runs=runs)

    def steps(self, state, me, run):
        # While an election is still to come, what a majority has may be older than what the primary has.
        settled = state.log[0] if state.log and self.on("majority-read") else state.world
        if run.todo is None:
            if run.kind == "sweep":
                commands = self.due(settled, self.is_quiet(state, me))
                began = commands and run._replace(todo=commands, tag=commands[0][2] if len(commands[0]) > 2 else None)
            else:
                began = self.begin(settled, run)
            if began:
                yield f"{self.name(me, run)} reads cart {run.cart if run.kind != 'sweep' else '*'}", self.with_run(
                    state, me, began)
            return
        sent = run.todo[:1]
        if self.parallel and sent and sent[0][0] in ("take", "hold"):
            sent = tuple(command for command in run.todo if command[0] in ("take", "hold"))
        for command in sent:
            after, verdict = self.apply(state.world, command, run.alive)
            then = self.following(after, run, command, verdict)
            if run.kind == "sweep" and then.todo == ():
                then = Run("sweep", 0, "")
            label = f"{self.name(me, run)}: {self.text(command)}: {verdict}"
            changed = self.written(state, after)
            if verdict == "short of its own":
                changed = changed._replace(fault="a call was told that stock or money lacks, of which it has its own")
            rule = "majority-verdict" if verdict == "decided" else MAJORITY.get(command[0])
            if changed.log and verdict in ("ok", "dup", "decided") and (rule is None or self.on(rule)):
                # The answer comes when a majority has the write.
                yield label + ", not yet on a majority", self.with_run(
                    changed, me, run._replace(waits=(len(changed.log), then)))
            else:
                yield label, self.with_run(changed, me, then)
            if state.flights and run.kind != "sweep":
                flying = state._replace(flights=state.flights - 1, landing=tuple(sorted(
                    (*state.landing, (me, command)), key=repr)))
                label = f"{self.name(me, run)}: {self.text(command)}: no answer, still on its way"
                yield label + ", and sent again", self.with_run(flying, me, self.repeated(run))
                yield label + ", and the caller stops", self.with_run(flying, me, run._replace(todo=()))

    @staticmethod
    def written(state, world):
        """After a write: logged while an election can still lose it."""
        if state.elections and world != state.world and len(state.log) < 3:
            return state._replace(world=world, log=(*state.log, state.world))
        return state._replace(world=world)

    @staticmethod
    def with_run(state, me, run):
        runs = list(state.runs)
        runs[me] = run
        return state._replace(runs=tuple(runs))

    @staticmethod
    def repeated(run):
        """The run after it has sent its command once more."""
        what = run.todo[0][0]
        return run._replace(twice=run.twice | {what}) if what in ("take", "sell") else run

    @staticmethod
    def name(me, run):
        return f"{me} {run.kind}{' ' + run.key if run.key else ''}"

    @staticmethod
    def text(command):
        return f"{command[0]}({', '.join(map(str, command[1:]))})"

    # ---- the invariants ----

    def violation(self, state):
        if state.fault:
            return state.fault
        broken = self.broken(state.world)
        if broken:
            return broken
        for run in state.runs:
            if run.kind == "checkout" and run.told == "order":
                told = {other.key for other in state.runs
                        if other.kind == "checkout" and other.cart == run.cart and other.told == "order"}
                if len(told) > 1 or not self.owns(state.world.carts[run.cart], run.key):
                    return "a caller was told of an order of another key"
            if run.told == "void":
                return "a try begins under a tag that is void, so it can never be decided"
        return None

    def owns(self, cart, key):
        """Whether the decision of the cart is one of this key."""
        return cart.tag is not None and cart.tag[1] == (key if self.on("own-tag") else "k")

    def broken(self, world):
        for sku, stock in enumerate(world.stock):
            held = sum(entry.quantity for entry in stock.entries)
            if stock.available + held + stock.sold != self.received[sku]:
                return f"stock of {NAMES[sku]} isn't conserved"
            if min(stock.available, stock.sold, *(entry.quantity for entry in stock.entries)) < 0:
                return f"stock of {NAMES[sku]} is below zero"
        if world.voucher:
            left, marks, spent = world.voucher
            if left + sum(state == "RESERVED" for _, state in marks) + spent != self.uses:
                return "uses of the voucher aren't conserved"
            if min(left, spent) < 0:
                return "uses of the voucher are below zero"
        if min(world.payer[0], world.merchant[0]) < 0:
            return "a balance is below zero"
        if world.payer[0] + world.merchant[0] > self.money:
            return "money came from nowhere"
        for number, cart in enumerate(world.carts):
            orders = [tag for tag, _ in world.orders if tag[0] == number]
            if len(orders) > 1:
                return "a cart has two orders"
            if orders and orders[0] != cart.tag:
                return "an order belongs to no decided checkout"
            if len([tag for tag, _ in world.payments if tag[0] == number]) > 1:
                return "a cart has two payments"
            for sku in SKUS:
                entry = world.stock[sku].entries[number]
                quantity, held = cart.lines[sku]
                if cart.state == "PAID" and cart.tag not in entry.gifts and entry.quantity < quantity:
                    return f"a PAID cart lacks stock of {NAMES[sku]}"
                if cart.state == "ACTIVE" and entry.quantity < held:
                    return f"an ACTIVE cart lacks the stock of {NAMES[sku]} that it holds"
            if cart.tag is not None and cart.spends != cart.voucher:
                return "a decided cart has a discount without its voucher, or none with it"
            if cart.state == "PAID" and cart.tag not in world.merchant[1]:
                if (cart.tag, total(cart.lines, cart.spends)) not in world.payer[1]:
                    return "a PAID cart has no money held, or another amount"
        return None

    def survivors(self, state):
        """What is left if every gateway dies now. What is on its way is lost here, and lands in the search itself."""
        told = frozenset((run.kind, run.cart, run.key, run.told) for run in state.runs if run.told)
        return state.world, told

    def after_recovery(self, survivors):
        world, told = survivors
        for _ in range(40):
            commands = self.due(world, True)
            if commands is None:
                break
            run = Run("sweep", 0, "", todo=commands, tag=commands[0][2] if len(commands[0]) > 2 else None)
            before = world
            while run.todo:
                command = run.todo[0]
                world, verdict = self.apply(world, command, True)
                run = self.following(world, run, command, verdict)
                broken = self.broken(world)
                if broken:
                    return "while the sweeps recover: " + broken
            if world == before:
                return f"the sweeps are stuck at {self.text(commands[0])}"
        broken = self.broken(world) or self.unfinished(world, told)
        return broken and "after the sweeps: " + broken

    def unfinished(self, world, told):
        """What isn't as it has to be in the end, if anything."""
        spent = uses = 0
        for number, cart in enumerate(world.carts):
            if cart.state in ("PAID", "CLOSING"):
                return f"a cart is stuck in {cart.state}"
            order = dict(world.orders).get(cart.tag) if cart.tag else None
            if (cart.state == "COMPLETE") != (order is not None):
                return "a COMPLETE cart without an order, or an order without one"
            for sku in SKUS:
                entry = world.stock[sku].entries[number]
                quantity, held = cart.lines[sku]
                if entry.quantity != (held if cart.state == "ACTIVE" else 0):
                    return f"a cart in {cart.state} holds {entry.quantity} of {NAMES[sku]}"
            if cart.state == "COMPLETE":
                if order not in ("PLACED", "CANCELLED"):
                    return f"an order is stuck in {order}"
                if dict(world.payments).get(cart.tag) != "CREDITED":
                    return "an order's payment hasn't arrived"
            spent += total(cart.lines, cart.spends) if order == "PLACED" else 0
            uses += order == "PLACED" and cart.spends
            for kind, of, key, what in told:
                if kind != "checkout" or of != number:
                    continue
                if what == "order" and (cart.state != "COMPLETE" or not self.owns(cart, key)):
                    return f"{key} was told of an order that doesn't exist"
                if what == "refused" and cart.tag is not None and cart.tag[1] == key:
                    others = any((kind, of, key, "order") == other for other in told)
                    if not others and not self.has_repeats(number, key):
                        return f"{key} was refused, and its order exists"
        if world.payer[0] != self.money - spent or world.merchant[0] != spent:
            return f"the payer has {world.payer[0]} and the merchant {world.merchant[0]} after spending {spent}"
        for sku, stock in enumerate(world.stock):
            sold = sum(cart.lines[sku][0] for cart in world.carts if dict(world.orders).get(cart.tag) == "PLACED")
            if stock.sold != sold:
                return f"{stock.sold} of {NAMES[sku]} are sold and {sold} are ordered"
        if world.voucher and world.voucher[2] != uses:
            return f"{world.voucher[2]} uses of the voucher are spent for {uses} orders"
        if world.voucher and any(state != "RETURNED" for _, state in world.voucher[1]):
            return "a mark of the voucher is left"
        if world.payer[1] or world.merchant[1]:
            return "a mark of money is left"
        if any(entry.gifts for stock in world.stock for entry in stock.entries):
            return "a mark of stock is left"
        return None

    def has_repeats(self, number, key):
        """Whether a refused call has a repeat, which may succeed after it."""
        return sum(call[:3] == ("checkout", number, key) for call in self.calls) > 1
