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
CHECKOUT = """mutation Checkout($cart: ID!, $shipping: ShippingAddressInput!, $op: ID, $payer: ID) {
  checkoutCart(input: {cartId: $cart, payment: {accountId: $payer}, shipping: $shipping, idempotencyKey: $op}) {
    __typename ... on Order { id state total { minorUnits } } ... on UserError { code message }
  }
}"""


def add(lines: int) -> str:
    """So many additions in one request."""
    return (
        "mutation Add($cart: ID!, "
        + ", ".join(f"$sku{at}: ID!, $op{at}: ID" for at in range(lines))
        + ") { "
        + " ".join(
            f"line{at}: addCartLine(input: {{cartId: $cart, sku: $sku{at}, quantity: 1, idempotencyKey: $op{at}}})"
            " { __typename ... on Cart { total { minorUnits } } ... on UserError { code message } }"
            for at in range(lines)
        )
        + " }"
    )


ENQUEUE = """mutation Enqueue($queue: String!, $op: ID) {
  enqueue(input: {queue: $queue, payload: "{\\"order\\": 4711}", idempotencyKey: $op}) {
    __typename ... on Job { id } ... on UserError { code message }
  }
}"""
CLAIM = """mutation Claim($queue: String!) {
  claimJob(input: {queue: $queue, leaseSeconds: 60}) {
    __typename ... on ClaimedJobs { jobs { token job { id payload } } } ... on UserError { code message }
  }
}"""
COMPLETE = """mutation Complete($job: ID!, $token: String!) {
  completeJob(input: {jobId: $job, token: $token}) {
    __typename ... on CompletedJob { jobId } ... on UserError { code message }
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
    """docgate: a cart is opened, a few products are put into it by one request, it is checked out. One of the
    `payers` pays, if there are any."""
    token, policy, payers = lists["token"], lists["policy"], lists.get("payers")
    count = lists.get("lines", LINES)
    opening, adding, closing = (renamed(query, lists) for query in (OPEN, add(count), CHECKOUT))

    async def iterate(connection: Connection, draw: random.Random, op: str) -> None:
        opened = await told(connection, graphql(opening, {"policy": policy, "op": f"{op}-open"}, token))
        cart = opened["data"]["openCart"]["id"]
        variables = {"cart": cart}
        for at, sku in enumerate(draw.sample(lists["skus"], count)):
            variables.update({f"sku{at}": sku, f"op{at}": f"{op}-{at}"})
        await told(connection, graphql(adding, variables, token))
        variables = {"cart": cart, "shipping": SHIPPING, "op": f"{op}-checkout"}
        if payers:
            variables["payer"] = draw.choice(payers)
        await told(connection, graphql(closing, variables, token))

    return iterate


def renamed(query: str, lists: Dict[str, Any]) -> str:
    """The query as an earlier schema has it, see earlier.py."""
    for now, then in lists.get("renamed", []):
        query = query.replace(now, then)
    return query


def checkout_by_transaction(lists: Dict[str, Any]) -> Iteration:
    """The peer: all of that in one request, and one transaction of the database. With an `owner` it is told what
    the same guarantees take."""
    count, owner, payers = lists.get("lines", LINES), lists.get("owner"), lists.get("payers")

    async def iterate(connection: Connection, draw: random.Random, op: str) -> None:
        lines = [{"sku": sku, "quantity": 1} for sku in draw.sample(lists["skus"], count)]
        asked: Dict[str, Any] = {"lines": lines}
        if owner:
            asked.update(op=op, owner=owner, shipping=SHIPPING)
        if payers:
            asked["payer"] = draw.choice(payers)
        await told(connection, encoded("POST", "/checkout", json.dumps(asked)))

    return iterate


def job(lists: Dict[str, Any]) -> Iteration:
    """docgate's work queue: a job is enqueued, the next one claimed and completed."""
    queue, token = lists["queue"], lists["token"]

    async def iterate(connection: Connection, _: random.Random, op: str) -> None:
        await told(connection, graphql(ENQUEUE, {"queue": queue, "op": op}, token))
        jobs: List[Any] = []
        while not jobs:
            claimed = await told(connection, graphql(CLAIM, {"queue": queue}, token))
            jobs = claimed["data"]["claimJob"]["jobs"]
        variables = {"job": jobs[0]["job"]["id"], "token": jobs[0]["token"]}
        await told(connection, graphql(COMPLETE, variables, token))

    return iterate


KINDS = {"checkout": checkout, "checkoutByTransaction": checkout_by_transaction, "job": job}


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
