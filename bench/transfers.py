"""A large file up and down: through docgate, and straight through the driver's GridFS streams."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import time
from typing import Any, Dict, List

from client import Address
from processes import MostResident, Trouble, resident_bytes
from servers import Database, Places, Running

DIRECTIONS = {"up": "up", "down": "down"}
#: The binary that has the driver's own streams.
BINARY = "gridfs"
#: Bytes that the client sends or reads at once.
BLOCK = 1 << 20
PATH = "/assets/bench-large"


def http_up(address: Address, token: str, length: int) -> Dict[str, Any]:
    """Puts a file that no compression makes smaller; it is made before it is timed."""
    block = random.Random(7).randbytes(BLOCK)
    head = (
        f"PUT {PATH} HTTP/1.1\r\nHost: {address[0]}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    began = time.monotonic()
    with socket.create_connection(address, 600) as connection:
        connection.sendall(head.encode())
        left = length
        while left:
            piece = memoryview(block)[: min(left, BLOCK)]
            connection.sendall(piece)
            left -= len(piece)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    seconds = time.monotonic() - began
    status = answer[9:12]
    if status not in (b"200", b"201"):
        raise Trouble(f"docgate took no file: {answer[:500].decode(errors='replace')}")
    return {"bytes": length, "seconds": seconds}


def http_down(address: Address, length: int) -> Dict[str, Any]:
    """Reads the file, and throws its bytes away."""
    buffer = bytearray(BLOCK)
    began = time.monotonic()
    with socket.create_connection(address, 600) as connection:
        connection.sendall(f"GET {PATH} HTTP/1.1\r\nHost: {address[0]}\r\nConnection: close\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = connection.recv(65_536)
            if not part:
                raise Trouble("docgate sent no file")
            head += part
        head, body = head.split(b"\r\n\r\n", 1)
        read = len(body)
        while count := connection.recv_into(buffer):
            read += count
    seconds = time.monotonic() - began
    if not head.startswith(b"HTTP/1.1 200") or read != length:
        raise Trouble(f"docgate sent {read} of {length} bytes: {head[:200].decode(errors='replace')}")
    return {"bytes": read, "seconds": seconds}


def driver(places: Places, database: Database, *words: str) -> Dict[str, Any]:
    """What the driver's own streams do, in a process of their own."""
    command = [str(places.rust / BINARY), *words]
    ran = subprocess.run(command, env=database.environment(), capture_output=True, text=True)
    if ran.returncode != 0:
        raise Trouble(f"{' '.join(command)}: {ran.stderr.strip()[-500:]}")
    told = json.loads(ran.stdout)
    return {"bytes": told["bytes"], "seconds": told["seconds"]}


def one_round(
    places: Places, database: Database, docgate: Running, token: str, length: int, number: int
) -> List[Dict[str, Any]]:
    """Both ways on both sides, in an order that changes with the round."""
    ours_first = number % 2 == 1
    found = []
    for direction in DIRECTIONS:
        for side in ("docgate", "driver") if ours_first else ("driver", "docgate"):
            found.append(
                {
                    "round": number,
                    "direction": direction,
                    "side": side,
                    **(
                        through_docgate(docgate, direction, token, length)
                        if side == "docgate"
                        else through_driver(places, database, direction, length)
                    ),
                }
            )
    # docgate keeps a file for as long as somebody may be reading it; the disk is to hold one round alone.
    driver(places, database, "clear", "bare", "assets")
    return found


def through_docgate(docgate: Running, direction: str, token: str, length: int) -> Dict[str, Any]:
    """With what is resident before, and at the most meanwhile."""
    before = resident_bytes(docgate.pid)
    with MostResident(docgate.pid) as most:
        outcome = (
            http_up(docgate.address, token, length)
            if direction == "up"
            else http_down(docgate.address, length)
        )
    docgate.process.must_run("while a file went through it")
    return {**outcome, "residentBefore": before, "residentBytes": max(most.bytes, before)}


def through_driver(places: Places, database: Database, direction: str, length: int) -> Dict[str, Any]:
    words = ("up", str(length), "large") if direction == "up" else ("down", "large")
    return driver(places, database, *words)


def runs(found: List[Dict[str, Any]], direction: str, side: str) -> List[Dict[str, Any]]:
    return [run for run in found if (run["direction"], run["side"]) == (direction, side)]


def speeds(found: List[Dict[str, Any]], direction: str, side: str) -> List[float]:
    """MiB a second, round by round."""
    return [run["bytes"] / run["seconds"] / 2**20 for run in runs(found, direction, side)]


def ratios(found: List[Dict[str, Any]], direction: str) -> List[float]:
    """How many times as fast docgate is, round by round."""
    ours, theirs = speeds(found, direction, "docgate"), speeds(found, direction, "driver")
    return [one / other for one, other in zip(ours, theirs)]


def growth(found: List[Dict[str, Any]]) -> List[float]:
    """How much memory a transfer took, in MiB."""
    ours = [run for run in found if run["side"] == "docgate"]
    return [(run["residentBytes"] - run["residentBefore"]) / 2**20 for run in ours]
