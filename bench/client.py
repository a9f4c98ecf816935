"""A small HTTP/1.1 client over keep-alive connections: for preparing the shop, for checking answers,
and for work that takes several requests one after the other, which wrk can't do."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

Address = Tuple[str, int]
Headers = Dict[str, str]

#: In the text of an answer these mean that the request failed or was refused. Quotes inside of
#: JSON strings are escaped, so that no title can look like it.
SIGNS_OF_FAILURE = ('"errors":', '"code":"')

#: Seconds without any answer after which a server is taken for dead.
SILENCE = 60

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """One connection that carries one request at a time."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: Optional[asyncio.Future] = None
        self._transport: Any = None

    @classmethod
    async def to(cls, address: Address) -> "Connection":
        _, connection = await asyncio.get_running_loop().create_connection(cls, *address)
        return connection

    async def send(self, request: bytes) -> Tuple[int, bytes]:
        """Status and body of the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        found = complete(self._received)
        if found is None or self._answer is None:
            return
        self._received = b""
        answer, self._answer = self._answer, None
        if not answer.done():
            answer.set_result(found)

    def connection_lost(self, error: Optional[Exception]) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the server closed the connection"))


def complete(received: bytes) -> Optional[Tuple[int, bytes]]:
    """Status and body, once all of it is there."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    head, body = received[:end], received[end + 4 :]
    status = int(head[9:12])
    length = _LENGTH.search(head)
    if length:
        return (status, body) if len(body) >= int(length.group(1)) else None
    if _CHUNKED.search(head):
        return (status, unchunked(body)) if body.endswith(b"0\r\n\r\n") else None
    return (status, b"")


def unchunked(body: bytes) -> bytes:
    """A chunked body in one piece."""
    pieces: List[bytes] = []
    while True:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            return b"".join(pieces)
        pieces.append(rest[:length])
        body = rest[length + 2 :]


def encoded(method: str, path: str, body: str = "", headers: Optional[Headers] = None) -> bytes:
    """A request as it is sent."""
    content = body.encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def bearer(token: Optional[str]) -> Headers:
    return {"Authorization": f"Bearer {token}"} if token else {}


def graphql(query: str, variables: Optional[dict] = None, token: Optional[str] = None) -> bytes:
    body = json.dumps({"query": query, "variables": variables or {}})
    return encoded("POST", "/graphql", body, bearer(token))


def send_all(address: Address, requests: Iterable[bytes], at_once: int = 1) -> List[Tuple[int, bytes]]:
    """The answers to all requests, in their order, some of them under way at once."""
    return asyncio.run(_send_all(address, list(requests), at_once))


async def _send_all(address: Address, requests: List[bytes], at_once: int) -> List[Tuple[int, bytes]]:
    answers: List[Any] = [None] * len(requests)
    waiting = iter(enumerate(requests))

    async def work() -> None:
        connection = await Connection.to(address)
        try:
            for place, request in waiting:
                answers[place] = await connection.send(request)
        finally:
            connection.close()

    async def work_together() -> None:
        await asyncio.gather(*(work() for _ in range(min(at_once, len(requests)) or 1)))

    workers = asyncio.ensure_future(work_together())
    # A timer of each request would cost several times what else this client does for it.
    answered = -1
    while not (await asyncio.wait([workers], timeout=SILENCE))[0]:
        before, answered = answered, sum(answer is not None for answer in answers)
        if answered == before:
            raise asyncio.TimeoutError(f"no answer for {SILENCE} seconds")
    await workers
    return answers


class Refused(Exception):
    """A server didn't do what the bench asked for while it was being prepared."""


def data(answer: Tuple[int, bytes]) -> dict:
    """`data` of an answer in which nothing failed or was refused."""
    status, body = answer
    text = body.decode()
    if status != 200 or any(sign in text for sign in SIGNS_OF_FAILURE):
        raise Refused(f"status {status}: {text[:500]}")
    return json.loads(text)["data"]


def ask(address: Address, query: str, variables: Optional[dict] = None, token: Optional[str] = None) -> dict:
    return data(send_all(address, [graphql(query, variables, token)])[0])
