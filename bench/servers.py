"""What is measured: the database with the shop, docgate, and its peers."""

from __future__ import annotations

import base64
import hmac
import json
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from client import Address
from processes import Process, Processes, Trouble, child, free_port

DOCGATE = "docgate"
#: The docgate of `--against`.
EARLIER = "earlier"
#: Settings that it doesn't know.
EARLIER_LACKS = ["DOCGATE_CLIENT_SHARE_PERCENT"]
#: docgate that sends each hit by itself, and reads each suggestion by itself.
APART = "apart"
#: docgate beside its own feeds: it is asked for a product by key.
BY_KEY = "by-key"
#: docgate beside its own list: it is asked for the list without pictures, availability and contributors.
PLAIN = "plain"
MEMORY = "memory"
BARE = "bare"
TRANSACTIONS = "transactions"
#: The same binary, with docgate's guarantees.
ASSURED = "assured"
NODE_PEERS = ["mercurius", "yoga", "apollo"]
#: By name their binaries, and what those are told.
RUST_PEERS: Dict[str, Tuple[str, Dict[str, str]]] = {
    MEMORY: ("memory", {}),
    BARE: ("bare", {}),
    TRANSACTIONS: ("transactions", {}),
    ASSURED: ("transactions", {"GUARANTEES": "docgate"}),
}
#: One binary, async-graphql with its own loader and HTTP; by name what its `LOADER` says.
LIBRARY = {
    "library": "request",
    "library-process": "process",
    "library-undelayed": "undelayed",
    "library-direct": "none",
}
LIBRARY_BINARY = "library"
#: Not processes of their own: docgate, asked for something else.
ASIDE = [BY_KEY, PLAIN]
#: In the order of tables and charts.
ALL = [DOCGATE, EARLIER, APART, BY_KEY, PLAIN, MEMORY, BARE, *LIBRARY, *NODE_PEERS, TRANSACTIONS, ASSURED]

TITLES = {
    DOCGATE: "docgate",
    EARLIER: "docgate as it was",
    APART: "docgate, each by itself",
    BY_KEY: "docgate, a product by key instead",
    PLAIN: "docgate, the list without them",
    MEMORY: "docgate's schema, answered from memory",
    BARE: "bare axum + driver",
    "library": "async-graphql, a DataLoader per request",
    "library-process": "async-graphql, one DataLoader",
    "library-undelayed": "async-graphql, one DataLoader without delay",
    "library-direct": "async-graphql, no DataLoader",
    "mercurius": "Mercurius + JIT",
    "yoga": "GraphQL Yoga",
    "apollo": "Apollo Server",
    TRANSACTIONS: "with a MongoDB transaction",
    ASSURED: "transaction, the same guarantees",
}

WEEK = 7 * 86_400


@dataclass
class Places:
    """Where everything is on this machine."""

    root: Path
    docgate: Path
    #: The Rust peers' binaries.
    rust: Path
    peers: Path
    data: Path
    #: The binary of an earlier docgate.
    against: Optional[Path] = None
    #: What that was built from.
    against_commit: str = ""


@dataclass
class Database:
    """A mongod with a filled shop, and what a gateway on it has to know."""

    uri: str
    name: str
    secret: str
    token_secret: str
    pid: int

    def environment(self, database: Optional[str] = None, **more: str) -> Dict[str, str]:
        """The environment of docgate and of every peer."""
        name = database or self.name
        clean = {key: value for key, value in os.environ.items() if not key.startswith("DOCGATE_")}
        return {
            **clean,
            "DOCGATE_MONGODB_URI": self.uri,
            "DOCGATE_DATABASE": name,
            "DOCGATE_SECRET": self.secret,
            "DOCGATE_AUTH_HS256_SECRET": self.token_secret,
            # One client sends as much as it can.
            "DOCGATE_REQUESTS_PER_SECOND": "0",
            "DOCGATE_CLIENT_SHARE_PERCENT": "100",
            # Carts of the first run are still there in the last one.
            "DOCGATE_CART_IDLE_SECONDS": str(WEEK),
            "DOCGATE_RESERVATION_SECONDS": str(2 * WEEK),
            "MONGODB_URI": self.uri,
            "DATABASE": name,
            "SECRET": self.secret,
            "NODE_ENV": "production",
            **more,
        }


def fill(places: Places, processes: Processes, products: int, fresh: bool) -> Database:
    """Starts the demo for its mongod and its shop, and suspends the demo's own gateway: it must
    neither sweep nor take CPU time."""
    places.data.mkdir(parents=True, exist_ok=True)
    command = [str(places.docgate), "demo", "--port", "0", "--data", str(places.data)]
    command += ["--products", str(products), *(["--fresh"] if fresh else [])]
    demo = processes.start("demo", command, dict(os.environ))
    found = demo.wait_for(r"^\s+MongoDB\s+(\S+) \(database (\w+)\)", 900)
    mongod = child(demo.pid, "mongod")
    demo.suspend()
    state = json.loads((places.data / "demo.json").read_text())
    return Database(found[1], found[2], state["secret"], state["auth_secret"], mongod)


def token(places: Places, database: Database, subject: str, *roles: str) -> str:
    command = [str(places.docgate), "token", "--sub", subject, "--ttl", "2d"]
    command += ["--roles", ",".join(roles)] if roles else []
    made = subprocess.run(command, env=database.environment(), capture_output=True, text=True, check=True)
    return made.stdout.strip()


def tokens(database: Database, subjects: List[str]) -> List[str]:
    """Tokens of many subjects without roles, signed as `docgate token` does it."""

    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).decode().rstrip("=")

    now, made = int(time.time()), []
    head = part(b'{"typ":"JWT","alg":"HS256"}')
    for subject in subjects:
        claims = {"sub": subject, "iat": now, "exp": now + 2 * 86_400}
        signed = f"{head}.{part(json.dumps(claims).encode())}"
        signature = hmac.digest(database.token_secret.encode(), signed.encode(), "sha256")
        made.append(f"{signed}.{part(signature)}")
    return made


@dataclass
class Server:
    """One that can be started."""

    name: str
    command: List[str]
    folder: Optional[Path] = None
    #: What it is told besides the database.
    environment: Dict[str, str] = field(default_factory=dict)

    def start(self, processes: Processes, database: Database, name: Optional[str] = None) -> "Running":
        """Starts it and waits until it serves; `name` is of another database than the shop's."""
        port = free_port()
        listen = {"PORT": str(port), "DOCGATE_LISTEN": f"127.0.0.1:{port}"}
        environment = {**database.environment(name), **listen, **self.environment}
        if self.name == EARLIER:
            environment = known_earlier(environment)
        process = processes.start(self.name, self.command, environment, self.folder)
        address = ("127.0.0.1", port)
        if self.name in (DOCGATE, EARLIER, APART):
            wait_until_healthy(process, address)
        else:
            process.wait_for(r"^ready\s*$", 120)
        return Running(self.name, process, address, (time.monotonic() - process.started) * 1000)


@dataclass
class Running:
    """One that serves."""

    name: str
    process: Process
    address: Address
    #: From the start of its process until it was ready.
    ready_millis: float

    @property
    def pid(self) -> int:
        return self.process.pid


def wait_until_healthy(process: Process, address: Address) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        process.must_run("before it was ready")
        try:
            with socket.create_connection(address, 1) as connection:
                connection.sendall(b"GET /health/ready HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                if connection.recv(12).endswith(b" 200"):
                    return
        except OSError:
            pass
        time.sleep(0.002)
    raise Trouble(f"{process.name} wasn't ready within 60 s:\n{process.said()[-2000:]}")


def known_earlier(environment: Dict[str, str]) -> Dict[str, str]:
    return {key: value for key, value in environment.items() if key not in EARLIER_LACKS}


def apart(places: Places) -> Server:
    environment = {
        "DOCGATE_COALESCE_COUNTS": "false",
        "DOCGATE_SUGGESTION_CACHE_SECONDS": "0",
        "DOCGATE_BACKGROUND": "false",
    }
    return Server(APART, [str(places.docgate), "serve"], environment=environment)


def earlier(binary: Path) -> Server:
    return Server(EARLIER, [str(binary), "serve"])


def available(places: Places, wanted: List[str], remarks: List[str]) -> List[Server]:
    """Those of the wanted servers that are there; a remark for each that isn't."""
    servers = []
    node = node_is_usable(places, remarks) if set(wanted) & set(NODE_PEERS) else None
    library = places.rust / LIBRARY_BINARY
    if set(wanted) & set(LIBRARY) and not library.is_file():
        remarks.append(f"async-graphql's own loader and HTTP: not measured, the binary `{library.name}` wasn't built.")
    for name in ALL:
        if name not in wanted or name in (APART, EARLIER, *ASIDE):
            continue
        if name == DOCGATE:
            servers.append(Server(name, [str(places.docgate), "serve"]))
        elif name in LIBRARY:
            if library.is_file():
                servers.append(Server(name, [str(library)], environment={"LOADER": LIBRARY[name]}))
        elif name in RUST_PEERS:
            binary, told = RUST_PEERS[name]
            if (places.rust / binary).is_file():
                servers.append(Server(name, [str(places.rust / binary)], environment=told))
            else:
                remarks.append(f"{TITLES[name]}: not measured, its binary `{binary}` wasn't built.")
        elif node and (places.peers / f"{name}.js").is_file():
            servers.append(Server(name, [node, f"{name}.js"], places.peers))
        elif node:
            remarks.append(f"{TITLES[name]}: not measured, {name}.js isn't there.")
    return servers


def node_is_usable(places: Places, remarks: List[str]) -> Optional[str]:
    """The path of node, with the peers' packages installed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    lacking = None
    if not node:
        lacking = "there is no node on PATH"
    elif not (places.peers / "package.json").is_file():
        lacking = "the folder of the Node peers isn't there"
    elif not (places.peers / "node_modules").is_dir():
        if not npm:
            lacking = "their packages aren't installed, and there is no npm on PATH"
        elif (
            subprocess.run(
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=places.peers
            ).returncode
            != 0
        ):
            lacking = "`npm ci` failed"
    if lacking:
        remark = f"Node peers and the Node driver: not measured, {lacking}."
        if remark not in remarks:
            remarks.append(remark)
        return None
    return node


def build(root: Path, bench: Path) -> None:
    """Binaries of docgate, as they are shipped, and of the Rust peers, side by side."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(root / "target")}
    for folder in [root, bench / "rust", bench / "library"]:
        command = ["cargo", "build", "--profile", "dist", "--locked"]
        if subprocess.run(command, cwd=folder, env=environment).returncode != 0:
            raise Trouble("cargo build failed")


def versions(places: Places, database: Database) -> Dict[str, str]:
    """What was measured, by name."""

    def first_line(*command: str) -> str:
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=20, cwd=places.root)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return (run.stdout.strip() or run.stderr.strip()).split("\n")[0]

    found = {
        "docgate": first_line(str(places.docgate), "--version").replace("docgate ", "", 1),
        "MongoDB": first_line(f"/proc/{database.pid}/exe", "--version").replace("db version v", ""),
        "wrk": first_line("wrk", "-v").split(" [")[0].replace("wrk ", ""),
    }
    if places.against:
        told = first_line(str(places.against), "--version").replace("docgate ", "", 1)
        commit = places.against_commit
        found[TITLES[EARLIER]] = f"{told} ({commit})" if commit else told
    commit = first_line("git", "describe", "--always", "--dirty", "--abbrev=12")
    if commit and "fatal" not in commit:
        found["docgate"] += f" ({commit})"
    if shutil.which("node"):
        found["Node"] = first_line("node", "--version").lstrip("v")
    for package in [
        "mercurius",
        "fastify",
        "graphql-yoga",
        "@apollo/server",
        "express",
        "graphql",
        "dataloader",
        "mongodb",
    ]:
        try:
            told = json.loads((places.peers / "node_modules" / package / "package.json").read_text())
            found[f"npm {package}"] = told["version"]
        except OSError:
            pass
    return found
