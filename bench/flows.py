"""A closed loop of work that takes several requests: each connection begins anew when its last one
is done. Started by load.py as a process of its own: its argument is a file with what to do in JSON,
the outcome goes as one JSON line to stdout."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, List

from client import SIGNS_OF_FAILURE, Connection, encoded, graphql

#: Lines of a cart.
LINES = 5
SHIPPING = {"name": "Anna Berg", "street": "Ringstr. 5", "city": "50667 Köln", "country": "DE"}

OPEN = """mutation Open($policy: CartPolicy!, $op: ID) {
  openCart(input: {policy: $policy, currency: "EUR", idempotencyKey: $op}) {
    __typename ... on Cart { id } ... on UserError { code message }
  }
}"""
ADD = (
    "mutation Add($cart: ID!, "
    + ", ".join(f"$sku{at}: ID!, $op{at}: ID" for at in range(LINES))
    + ") { "
    + " ".join(
        f"line{at}: addCartLine(input: {{cartId: $cart, sku: $sku{at}, quantity: 1, idempotencyKey: $op{at}}})"
        " { __typename ... on Cart { total { minorUnits } } ... on UserError { code message } }"
        for at in range(LINES)
    )
    + " }"
)
CHECKOUT = """mutation Checkout($cart: ID!, $shipping: ShippingAddressInput!, $op: ID) {
  checkoutCart(input: {cartId: $cart, payment: {}, shipping: $shipping, idempotencyKey: $op}) {
    __typename ... on Order { id state total { minorUnits } } ... on UserError { code message }
  }
}"""


class Failed(Exception):
    """An answer that isn't what was hoped for."""


async def told(connection: Connection, request: bytes) -> Any:
    status, body = await connection.send(request)
    text = body.decode()
    if not 200 <= status < 300 or any(sign in text for sign in SIGNS_OF_FAILURE):
        raise Failed(f"{status} {text[:300]}")
    return json.loads(text) if text else None


Iteration = Callable[[Connection, random.Random, str], Awaitable[None]]


def checkout(lists: Dict[str, Any]) -> Iteration:
    """docgate: a cart is opened, five products are put into it by one request, it is checked out."""
    token, policy = lists["token"], lists["policy"]

    async def iterate(connection: Connection, draw: random.Random, op: str) -> None:
        opened = await told(connection, graphql(OPEN, {"policy": policy, "op": f"{op}-open"}, token))
        cart = opened["data"]["openCart"]["id"]
        variables = {"cart": cart}
        for at, sku in enumerate(draw.sample(lists["skus"], LINES)):
            variables.update({f"sku{at}": sku, f"op{at}": f"{op}-{at}"})
        await told(connection, graphql(ADD, variables, token))
        variables = {"cart": cart, "shipping": SHIPPING, "op": f"{op}-checkout"}
        await told(connection, graphql(CHECKOUT, variables, token))

    return iterate


def checkout_by_transaction(lists: Dict[str, Any]) -> Iteration:
    """The peer: all of that in one request, and one transaction of the database."""

    async def iterate(connection: Connection, draw: random.Random, _: str) -> None:
        lines = [{"sku": sku, "quantity": 1} for sku in draw.sample(lists["skus"], LINES)]
        await told(connection, encoded("POST", "/checkout", json.dumps({"lines": lines})))

    return iterate


KINDS = {"checkout": checkout, "checkoutByTransaction": checkout_by_transaction}


async def run(spec: Dict[str, Any]) -> Dict[str, Any]:
    iterate = KINDS[spec["kind"]](spec["lists"])
    latencies: List[float] = []
    failures: List[str] = []
    connections = [await Connection.to(tuple(spec["address"])) for _ in range(spec["connections"])]
    begin = time.perf_counter()
    end = begin + spec["seconds"]

    async def loop(number: int, connection: Connection) -> None:
        draw = random.Random(spec["seed"] * 10_000 + number)
        count = 0
        while time.perf_counter() < end:
            since = time.perf_counter()
            count += 1
            try:
                work = iterate(connection, draw, f"{spec['name']}-{number}-{count}")
                await asyncio.wait_for(work, 30)
                latencies.append((time.perf_counter() - since) * 1000)
            except (Failed, asyncio.TimeoutError, OSError) as fault:
                failures.append(str(fault) or "no answer within 30 s")
                if not isinstance(fault, Failed):
                    connection.close()
                    connection = await Connection.to(tuple(spec["address"]))
        connection.close()

    await asyncio.gather(*(loop(number, one) for number, one in enumerate(connections)))
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "done": len(latencies),
        "seconds": time.perf_counter() - begin,
        "failures": len(failures),
        "sample": failures[0] if failures else "",
        "latencies": [round(millis, 3) for millis in latencies],
        "cpu": used.ru_utime + used.ru_stime,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(json.loads(Path(sys.argv[1]).read_text())))))
