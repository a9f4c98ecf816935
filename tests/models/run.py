#!/usr/bin/env python3
"""Explores the model of the checkout without a claim, and proves that its rules are needed.

Each configuration has to hold with all rules. Each rule has a configuration that has to fail without it. The spare
rules are the exception: no configuration here needs them, which is also checked.
"""

import argparse
import sys
from time import perf_counter

from checker import explore
from checkout import RULES, Checkout


def checkout(key, cart=0):
    return ("checkout", cart, key)


SWEEP, CANCEL, CLOSE = ("sweep", 0, ""), ("cancel", 0, ""), ("close", 0, "")
LOWER, ADD, UNAPPLY = ("lower", 0, ""), ("add", 0, ""), ("unapply", 0, "")
A, B = checkout("a"), checkout("b")
ONE = (((1, 0), (0, 0)),)
HELD = (((1, 1), (1, 0)),)
# Of one price without the voucher, and another with it.
TWO = (((2, 0), (0, 0)),)

# Without more arguments: a cart with two of A and one of B, of which two and one are there, and a payer with exactly
# the money for them.
CONFIGURATIONS = {
    "repeat": dict(runs=[A, A]),
    "repeat, B is short": dict(runs=[A, A, SWEEP], stock=(2, 0)),
    "repeat, payer is short": dict(runs=[A, A, SWEEP], balance=2),
    "repeat, enough for two": dict(runs=[A, A, SWEEP], lines=ONE, stock=(2, 0), balance=2),
    "repeat, a late command": dict(runs=[A, A], flights=1, lines=ONE, stock=(2, 0), balance=2),
    "sweep, two late commands": dict(runs=[A, SWEEP], flights=2, lines=ONE),
    "sweep, a late command": dict(runs=[A, SWEEP], flights=1),
    "reserves in any order": dict(runs=[A, SWEEP], flights=1, parallel=True),
    "two keys": dict(runs=[A, B, SWEEP]),
    "two keys, enough for both": dict(runs=[A, B, SWEEP], stock=(4, 2), balance=6),
    "election": dict(runs=[A, SWEEP], elections=1),
    "election, repeat": dict(runs=[A, A], elections=1, lines=ONE, stock=(2, 0), balance=2),
    "election, repeat and sweep": dict(
        runs=[A, A, SWEEP], elections=1, lines=(((1, 1), (0, 0)),), stock=(1, 0), balance=2),
    "begun before, a late command": dict(
        runs=[A, SWEEP], flights=1, lines=ONE, stock=(2, 0), balance=2, begun=True),
    "begun before, election": dict(
        runs=[A, SWEEP], elections=1, lines=(((1, 1), (0, 0)),), stock=(1, 0), balance=2, begun=True),
    "order cancelled beside it": dict(runs=[A, CANCEL, SWEEP], lines=ONE),
    "cancelled order, a late command": dict(runs=[A, CANCEL], flights=1, lines=ONE),
    "order cancelled twice": dict(runs=[A, CANCEL, CANCEL], lines=ONE, stock=(2, 0), balance=2),
    "cart closed beside it": dict(runs=[A, CLOSE, SWEEP]),
    "cart that holds stock is closed": dict(runs=[A, CLOSE, SWEEP], lines=(((2, 2), (1, 0)),)),
    "line lowered beside it": dict(runs=[A, LOWER, SWEEP]),
    "repeat, line lowered beside it": dict(runs=[A, A, LOWER], lines=(((2, 0), (0, 0)),), stock=(4, 0), balance=4),
    "line added beside it": dict(runs=[A, ADD, SWEEP], lines=HELD, stock=(3, 1)),
    "two carts, money for one": dict(
        runs=[A, checkout("b", 1), SWEEP], lines=(((2, 0), (1, 0)), ((1, 0), (2, 0))), stock=(3, 3)),
    "two carts, one order cancelled": dict(
        runs=[A, checkout("b", 1), CANCEL], lines=(((1, 0), (0, 0)), ((1, 0), (0, 0))), stock=(2, 0), balance=2),
    "two carts, stock for one": dict(
        runs=[A, checkout("b", 1), SWEEP], lines=(((2, 0), (1, 0)), ((1, 0), (2, 0))), stock=(2, 3), balance=6),
    "voucher, repeat": dict(runs=[A, A], lines=TWO, stock=(4, 0), balance=4, voucher=2),
    "voucher, a late command": dict(runs=[A, SWEEP], flights=1, lines=TWO, stock=(4, 0), balance=4, voucher=2),
    "voucher, election": dict(runs=[A, SWEEP], elections=1, lines=(((2, 2), (0, 0)),), voucher=1),
    "voucher is removed beside it": dict(runs=[A, UNAPPLY, SWEEP], lines=TWO, voucher=1),
    "voucher, order cancelled twice": dict(runs=[A, CANCEL, CANCEL], lines=TWO, voucher=1),
    "voucher for one of two carts": dict(
        runs=[A, checkout("b", 1), SWEEP], lines=(((2, 2), (0, 0)), ((2, 2), (0, 0))), stock=(4, 0), balance=4, voucher=1),
}

# The configuration that fails without the rule.
NEEDED = {
    "dup-first": "repeat",
    "hold-deadline": "repeat, enough for two",
    "credit-deadline": "line lowered beside it",
    "void-first": "election",
    "void-guard": "repeat, enough for two",
    "void-loses": "election",
    "active-guard": "cart closed beside it",
    "line-guard": "line lowered beside it",
    "close-guard": "cart closed beside it",
    "own-tag": "two keys",
    "new-tag": "repeat, B is short",
    "own-lines": "repeat, line lowered beside it",
    "order-id": "order cancelled twice",
    "hold-mark": "election, repeat",
    "complete-last": "order cancelled twice",
    "one-seller": "repeat, enough for two",
    "forget-sell": "repeat, a late command",
    "forget-own": "begun before, election",
    "forget-empty": "line added beside it",
    "sweep-waits": "election",
    "retire-waits": "election, repeat",
    "sweep-holds": "election",
    "sweep-paid": "order cancelled twice",
    "sweep-ended": "repeat, a late command",
    "refund-waits": "order cancelled twice",
    "refund-mark": "order cancelled twice",
    "restock-mark": "order cancelled twice",
    "restock-waits": "order cancelled twice",
    "majority-take": "election",
    "majority-hold": "election",
    "majority-decide": "election",
    "majority-void": "election, repeat and sweep",
    "majority-order": "election",
    "majority-verdict": "election",
    "majority-read": "election",
    "voucher-deadline": "voucher, a late command",
    "voucher-guard": "voucher is removed beside it",
    "voucher-mark": "voucher, repeat",
    "sweep-vouchers": "voucher, election",
    "return-mark": "voucher, order cancelled twice",
    "return-waits": "voucher, order cancelled twice",
    "majority-reserve": "voucher, election",
}

# Rules that no configuration needs alone: another rule covers what they prevent.
SPARE = {
    "take-deadline": "sweep, two late commands",
    "sell-deadline": "sweep, two late commands",
    "one-mark": "repeat, a late command",
    "forget-take": "begun before, a late command",
    "forget-took": "begun before, a late command",
    "forget-deadline": "repeat, enough for two",
}

# Spare rules of which one is needed: the configuration fails without both.
PAIRS = {
    ("forget-take", "forget-took"): "begun before, a late command",
    ("take-deadline", "forget-deadline"): "repeat, enough for two",
}

LIMIT = 100_000


def line(name, result, verdict):
    print(f"{name}: {verdict}, {result.states} states, {result.seconds:.1f} s", flush=True)


def show(result):
    print(f"  {result.violation}")
    for number, step in enumerate(result.trace, 1):
        print(f"  {number:2}. {step}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configuration", nargs="?", help="explore only this one, and show a counter-example")
    parser.add_argument("--off", metavar="RULE", action="append", default=[], help="a rule to switch off")
    parser.add_argument("--list", action="store_true", help="list the configurations and the rules")
    parser.add_argument("--limit", type=int, default=LIMIT, help="most states of one configuration (%(default)s)")
    arguments = parser.parse_args()
    if arguments.list:
        print(*CONFIGURATIONS, sep="\n")
        print()
        print(*(f"{rule}: {meaning}" for rule, meaning in RULES.items()), sep="\n")
        return 0
    for rule in arguments.off:
        if rule not in RULES:
            parser.error(f"no such rule: {rule}")
    if arguments.configuration is not None or arguments.off:
        names = [arguments.configuration] if arguments.configuration else list(CONFIGURATIONS)
        for name in names:
            if name not in CONFIGURATIONS:
                parser.error(f"no such configuration: {name}")
            result = explore(Checkout(**CONFIGURATIONS[name], off=arguments.off), arguments.limit)
            line(name, result, "fails" if result.violation else "holds" if result.complete else "isn't finished")
            if result.violation:
                show(result)
                return 1
        return 0
    return everything(arguments.limit)


def everything(limit):
    began, states, failed, searches = perf_counter(), 0, [], 0
    missing = set(RULES) - set(NEEDED) - set(SPARE)
    if missing:
        failed.append(f"rules without an expectation: {sorted(missing)}")
    searched = [(name, name, ()) for name in CONFIGURATIONS]
    searched += [(f"without {rule}, {name}", name, (rule,)) for rule, name in (NEEDED | SPARE).items()]
    searched += [(f"without {' and '.join(rules)}, {name}", name, rules) for rules, name in PAIRS.items()]
    for title, name, off in searched:
        result = explore(Checkout(**CONFIGURATIONS[name], off=off), limit)
        states, searches = states + result.states, searches + 1
        should_fail = bool(off) and (off[0] in NEEDED or off in PAIRS)
        is_right = bool(result.violation) == should_fail and result.complete
        verdict = f"fails as it has to ({result.violation})" if should_fail and is_right else "holds"
        line(title, result, verdict if is_right else "NOT AS EXPECTED")
        if not is_right:
            failed.append(title)
            show(result)
    print(f"{searches} searches, {len(NEEDED)} rules needed, {states} states, {perf_counter() - began:.1f} s, "
          f"{len(failed)} not as expected")
    for what in failed:
        print(f"not as expected: {what}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
