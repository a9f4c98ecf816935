"""The little of MongoDB's protocol that the bench needs to fill a database and to look at it, without a driver."""

from __future__ import annotations

import json
import socket
import struct
from datetime import datetime
from typing import Any, Dict, Iterable, List, Tuple
from urllib.parse import urlsplit

from processes import Trouble

_MESSAGE = 2013
#: BSON types of a fixed length that are skipped: ObjectId, Timestamp.
_SKIPPED = {0x07: 12, 0x11: 8}
#: Types of a fixed length, with their format: double, boolean, date, 32 and 64 bits.
_NUMBERS = {0x01: "<d", 0x08: "<?", 0x09: "<q", 0x10: "<i", 0x12: "<q"}


def _value(value: Any) -> Tuple[int, bytes]:
    """The BSON type of a value of Extended JSON, and its bytes."""
    if isinstance(value, bool):
        return 0x08, struct.pack("<?", value)
    if isinstance(value, int):
        return 0x10, struct.pack("<i", value)
    if isinstance(value, str):
        text = value.encode() + b"\0"
        return 0x02, struct.pack("<i", len(text)) + text
    if isinstance(value, list):
        return 0x04, encode({str(at): one for at, one in enumerate(value)})
    if set(value) == {"$numberLong"}:
        return 0x12, struct.pack("<q", int(value["$numberLong"]))
    if set(value) == {"$date"}:
        moment = datetime.fromisoformat(value["$date"].replace("Z", "+00:00"))
        return 0x09, struct.pack("<q", int(moment.timestamp() * 1000))
    return 0x03, encode(value)


def fields(document: Dict[str, Any]) -> bytes:
    """The fields of a document as BSON."""
    parts = []
    for name, value in document.items():
        kind, content = _value(value)
        parts.append(bytes([kind]) + name.encode() + b"\0" + content)
    return b"".join(parts)


def framed(content: bytes) -> bytes:
    """A document of these fields."""
    return struct.pack("<i", len(content) + 5) + content + b"\0"


def encode(document: Dict[str, Any]) -> bytes:
    return framed(fields(document))


def decode(data: bytes) -> Dict[str, Any]:
    """The fields of a document: numbers, texts, documents and arrays. Values of other types are left out."""
    found: Dict[str, Any] = {}
    at = 4
    while data[at]:
        kind, end = data[at], data.index(b"\0", at)
        name, at = data[at + 1 : end].decode(), end + 1
        if kind in _NUMBERS:
            found[name] = struct.unpack_from(_NUMBERS[kind], data, at)[0]
            at += struct.calcsize(_NUMBERS[kind])
        elif kind in _SKIPPED:
            at += _SKIPPED[kind]
        elif kind == 0x0A:
            found[name] = None
        else:
            length = struct.unpack_from("<i", data, at)[0]
            if kind == 0x02:
                found[name], at = data[at + 4 : at + 3 + length].decode(), at + 4 + length
            elif kind in (0x03, 0x04):
                inner, at = decode(data[at : at + length]), at + length
                found[name] = list(inner.values()) if kind == 0x04 else inner
            elif kind == 0x05:
                at += 5 + length
            else:
                raise Trouble(f"MongoDB answered with a value of the type {kind}")
    return found


class Mongo:
    """A connection to one mongod without users."""

    def __init__(self, uri: str):
        place = urlsplit(uri)
        self._socket = socket.create_connection((place.hostname, place.port or 27017), 120)

    def command(self, database: str, command: Dict[str, Any], documents: Iterable[bytes] = ()) -> Dict[str, Any]:
        """The reply to a command, with documents that it inserts."""
        body = struct.pack("<I", 0) + b"\0" + encode({**command, "$db": database})
        sequence = b"documents\0" + b"".join(documents)
        if len(sequence) > len(b"documents\0"):
            body += b"\x01" + struct.pack("<i", len(sequence) + 4) + sequence
        self._socket.sendall(struct.pack("<iiii", 16 + len(body), 1, 0, _MESSAGE) + body)
        length = struct.unpack("<i", self._receive(4))[0]
        reply = decode(self._receive(length - 4)[17:])
        if reply.get("ok") != 1 or reply.get("writeErrors"):
            raise Trouble(f"MongoDB refused {next(iter(command))}: {json.dumps(reply)[:500]}")
        return reply

    def _receive(self, length: int) -> bytes:
        parts: List[bytes] = []
        while length:
            part = self._socket.recv(min(length, 1 << 20))
            if not part:
                raise Trouble("MongoDB closed the connection")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)
