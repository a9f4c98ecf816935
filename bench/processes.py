"""Processes: each one is started apart from the terminal, and ended by its own pid in every case."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

_ROOT = Path(__file__).resolve().parent.parent

_TICKS = os.sysconf("SC_CLK_TCK")
_DIE_WITH_PARENT = 1
_libc = ctypes.CDLL(None)


def _die_with_parent() -> None:
    """Were the bench killed, the system ends what it has started (Linux' PR_SET_PDEATHSIG)."""
    _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)


class Trouble(Exception):
    """The bench can't go on; the text is for whoever started it."""


class Process:
    """One server and the file with what it says."""

    def __init__(
        self,
        name: str,
        command: List[str],
        environment: Dict[str, str],
        log: Path,
        folder: Optional[Path] = None,
    ):
        self.name = name
        self.log = log
        self.started = time.monotonic()
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self.pid = self._process.pid

    def wait_for(self, pattern: str, seconds: float) -> "re.Match[str]":
        """The first place in its output that the pattern matches."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.said(), re.MULTILINE)
            if found:
                return found
            self.must_run(f"before it said {pattern!r}")
            if time.monotonic() > end:
                raise Trouble(
                    f"{self.name} didn't say {pattern!r} within {seconds:.0f} s:\n{self.said()[-2000:]}"
                )
            time.sleep(0.002)

    def must_run(self, when: str) -> None:
        if self._process.poll() is not None:
            raise Trouble(f"{self.name} ended ({self._process.returncode}) {when}:\n{self.said()[-2000:]}")

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def suspend(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def end(self) -> None:
        """SIGTERM, and SIGKILL for whoever doesn't care."""
        if self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Processes:
    """All that run; none of them outlives the `with` block."""

    def __init__(self, logs: Path):
        self._logs = logs
        self._running: List[Process] = []

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        # A second Ctrl-C must not leave anything behind.
        before = [
            (number, signal.signal(number, signal.SIG_IGN)) for number in (signal.SIGINT, signal.SIGTERM)
        ]
        while self._running:
            self._running.pop().end()
        for number, handler in before:
            signal.signal(number, handler)

    def start(
        self, name: str, command: List[str], environment: Dict[str, str], folder: Optional[Path] = None
    ) -> Process:
        process = Process(name, command, environment, self._logs / f"{name}.log", folder)
        self._running.append(process)
        return process

    def end(self, process: Process) -> None:
        self._running.remove(process)
        process.end()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def child(pid: int, name: str) -> int:
    """The child of that name."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        found, rest = (text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split())
        if found == name and int(rest[1]) == pid:
            return int(text.split(" ", 1)[0])
    raise Trouble(f"process {pid} has no child {name}")


def cpu_seconds(pid: int) -> float:
    """CPU time of all its threads so far, its own and the system's for it."""
    text = Path(f"/proc/{pid}/stat").read_text()
    fields = text[text.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """CPU time of everything on this machine so far."""
    user, nice, system, _idle, _waiting, *others = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + sum(others)) / _TICKS


def resident_bytes(pid: int) -> int:
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


class MostResident:
    """The largest resident memory of a process while the `with` block runs."""

    def __init__(self, pid: int):
        self.bytes = 0
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            try:
                self.bytes = max(self.bytes, resident_bytes(self._pid))
            except OSError:
                return

    def __enter__(self) -> "MostResident":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def arguments(description: str) -> argparse.ArgumentParser:
    """The command line of a benchmark on a MongoDB that runs already."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--docgate", type=Path, default=_ROOT / "target/dist/docgate", help="binary of the gateway"
    )
    parser.add_argument("--mongodb", required=True, help="URI of a replica set of one, without users")
    return parser


def allow_many_files() -> None:
    """Raises the number of files that this process and those that it starts may open."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def print_results(run: Callable[[Processes, Path], Any]) -> int:
    """Runs a benchmark in a temporary folder, and prints its results as JSON. Returns the exit status of the program."""
    with tempfile.TemporaryDirectory(prefix="docgate-bench-") as folder:
        try:
            with Processes(Path(folder)) as processes:
                print(json.dumps(run(processes, Path(folder)), indent=2))
        except Trouble as trouble:
            print(f"bench: {trouble}", file=sys.stderr)
            return 1
    return 0
