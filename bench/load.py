"""The load: requests with drawn parts, wrk scripts made of them, and what wrk says."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from client import SIGNS_OF_FAILURE, Address, bearer, encoded
from processes import Trouble

#: Where an idempotency key stands in a text: another one each time.
OP = -1
#: Pieces of a text: as it stands, the number of the column that is drawn from, or `OP`.
Text = Sequence[Union[str, int]]


@dataclass(frozen=True)
class Column:
    """What a piece is drawn from."""

    values: List[str]
    #: One after the other, each thread its own share; else at random.
    in_turn: bool = False


@dataclass(frozen=True)
class Request:
    """A request that is sent again and again with other values."""

    path: Text
    body: Text = ()
    columns: Sequence[Column] = ()
    method: str = "POST"
    #: A value that isn't the same each time is in pieces too.
    headers: Dict[str, Union[str, List[Union[str, int]]]] = field(default_factory=dict)

    def is_steady(self) -> bool:
        """Whether there are only as many different ones as values to draw."""
        return len(self.columns) == 1 and not self.columns[0].in_turn and OP not in [*self.path, *self.body]

    def sample(self, draw: random.Random) -> bytes:
        """One such request."""
        values = [draw.choice(column.values) for column in self.columns]
        op = f"sample-{draw.getrandbits(64):x}"

        def filled(text: Text) -> str:
            return "".join(
                piece if isinstance(piece, str) else op if piece == OP else values[piece] for piece in text
            )

        headers = {name: filled(pieces(value)) for name, value in self.headers.items()}
        return encoded(self.method, filled(self.path), filled(self.body), headers)


def pieces(value: Union[str, Text]) -> Text:
    return [value] if isinstance(value, str) else value


def joined(text: Text) -> Text:
    """The same text in as few pieces as it takes."""
    whole: List[Union[str, int]] = []
    for piece in text:
        if whole and isinstance(piece, str) and isinstance(whole[-1], str):
            whole[-1] += piece
        else:
            whole.append(piece)
    return whole


def graphql(
    query: str, variables: Text, columns: Sequence[Column] = (), token: Optional[str] = None
) -> Request:
    """A GraphQL request; `variables` are the pieces of a JSON object."""
    body = ['{"query":' + json.dumps(query) + ',"variables":', *variables, "}"]
    return Request(["/graphql"], body, columns, headers=dict(bearer(token)))


@dataclass(frozen=True)
class Load:
    """What one run does, and for how long."""

    connections: int
    seconds: int
    seed: int
    #: Names the run: idempotency keys begin with it.
    name: str


Outcome = Dict[str, Any]

_SCRIPT = """
local method, headers = {method}, {headers}
local path, body = {path}, {body}
local files, in_turn = {files}, {in_turn}
local signs = {signs}
local threads = {{}}

function setup(thread)
  threads[#threads + 1] = thread
  thread:set("number", #threads)
end

function init()
  math.randomseed({seed} * 1000 + number)
  failures, sent, columns = 0, 0, {{}}
  for place, file in ipairs(files) do
    local values = {{}}
    for line in io.lines(file) do values[#values + 1] = line end
    columns[place] = values
  end
end

local drawn = {{}}

local function filled(text)
  local pieces = {{}}
  for place, piece in ipairs(text) do
    if type(piece) == "string" then pieces[place] = piece
    elseif piece == {op} then pieces[place] = "{name}-" .. number .. "-" .. sent
    else pieces[place] = drawn[piece + 1] end
  end
  return table.concat(pieces)
end

local function written()
  local content = filled(body)
  local head = method .. " " .. filled(path) .. " HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n" .. filled(headers)
  if method ~= "GET" then head = head .. "Content-Length: " .. #content .. "\\r\\n" end
  return head .. "\\r\\n" .. content
end
{way}
function done(summary, latency)
  local failures, sample = summary.errors.status, nil
  for _, thread in ipairs(threads) do
    failures = failures + thread:get("failures")
    sample = sample or thread:get("sample")
  end
  local errors = summary.errors
  local hex = (sample or ""):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end)
  print(("{{\\"requests\\":%d,\\"bytes\\":%d,\\"micros\\":%d,\\"failed\\":%d,\\"lost\\":%d,\\"p50\\":%f,\\"p99\\":%f,\\"sample\\":\\"%s\\"}}"):format(
    summary.requests, summary.bytes, summary.duration, failures,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), hex))
end
"""


#: Each request is drawn and written by itself, and each answer looked into.
_CHECKED = """
function request()
  sent = sent + 1
  for place, values in ipairs(columns) do
    local at = math.random(#values)
    if in_turn[place] then at = ((sent - 1) * {threads} + number - 1) % #values + 1 end
    drawn[place] = values[at]
  end
  return written()
end

function response(status, _, answer)
  local failed = status < 200 or status > 299
  for _, sign in ipairs(signs) do failed = failed or answer:find(sign, 1, true) ~= nil end
  if not failed then return end
  -- From 400 on wrk counts by itself.
  if status < 400 then failures = failures + 1 end
  sample = sample or (status .. " " .. answer:sub(1, 300))
end
"""

#: Each request is written once, and answers are only counted.
_STEADY = """
local requests = {}
function request()
  local values = columns[1]
  local at = math.random(#values)
  local made = requests[at]
  if not made then
    drawn[1] = values[at]
    made = written()
    requests[at] = made
  end
  return made
end
"""


def lua(value: Any) -> str:
    """A value as Lua writes it."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
        return f'"{escaped}"'
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(lua, value)) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def script(request: Request, load: Load, threads: int, folder: Path, checked: bool) -> Path:
    """Writes the script and the files that it draws from."""
    files = []
    for place, column in enumerate(request.columns):
        if not column.values:
            raise Trouble(f"{load.name}: there is nothing to draw from")
        file = folder / f"column-{place}.txt"
        file.write_text("".join(value + "\n" for value in column.values))
        files.append(str(file))
    headers = (
        {"Content-Type": "application/json", **request.headers}
        if request.method != "GET"
        else request.headers
    )
    head = [piece for name, value in headers.items() for piece in (f"{name}: ", *pieces(value), "\r\n")]
    text = _SCRIPT.format(
        method=lua(request.method),
        headers=lua(joined(head)),
        path=lua(list(request.path)),
        body=lua(list(request.body)),
        files=lua(files),
        in_turn=lua([column.in_turn for column in request.columns]),
        signs=lua(list(SIGNS_OF_FAILURE)),
        seed=load.seed,
        name=load.name,
        op=OP,
        way=_CHECKED.replace("{threads}", str(threads)) if checked else _STEADY,
    )
    path = folder / "load.lua"
    path.write_text(text)
    return path


def wrk(
    address: Address, request: Request, load: Load, folder: Path, threads: int = 1, checked: bool = True
) -> Outcome:
    """Drives a server with wrk. Answers that aren't checked are told apart from failures by their status and
    their size only."""
    threads = min(threads, load.connections)
    path = script(request, load, threads, folder, checked)
    command = ["wrk", f"-t{threads}", f"-c{load.connections}", f"-d{load.seconds}s", "--timeout", "10s"]
    command += ["-s", str(path), f"http://{address[0]}:{address[1]}/"]
    before = _children_seconds()
    run = subprocess.run(command, capture_output=True, text=True, timeout=load.seconds + 60)
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode != 0 or not lines:
        raise Trouble(f"wrk failed ({run.returncode}): {run.stdout}{run.stderr}")
    told = json.loads(lines[-1])
    return {
        "done": told["requests"] - told["failed"],
        "answerBytes": told["bytes"] / max(1, told["requests"]),
        "seconds": told["micros"] / 1e6,
        "failures": told["failed"] + told["lost"],
        "sample": bytes.fromhex(told["sample"]).decode(errors="replace"),
        "p50": told["p50"] / 1000,
        "p99": told["p99"] / 1000,
        "clientCpu": _children_seconds() - before,
    }


def flow(
    address: Address, kind: str, lists: Dict[str, Any], load: Load, folder: Path, processes: int = 1
) -> Outcome:
    """Drives a server with work of several requests each, see flows.py."""
    shares = [share for share in _shares(load.connections, processes) if share]
    workers = []
    try:
        for number, share in enumerate(shares):
            spec = {
                "address": address,
                "kind": kind,
                "lists": lists,
                "connections": share,
                "seconds": load.seconds,
                "seed": load.seed * 100 + number,
                "name": f"{load.name}-{number}",
            }
            file = folder / f"flow-{number}.json"
            file.write_text(json.dumps(spec))
            command = [sys.executable, str(Path(__file__).with_name("flows.py")), str(file)]
            workers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        told = [_told(worker, load.seconds + 60) for worker in workers]
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
    latencies = sorted(millis for one in told for millis in one["latencies"])
    return {
        "done": sum(one["done"] for one in told),
        "seconds": max(one["seconds"] for one in told),
        "failures": sum(one["failures"] for one in told),
        "sample": next((one["sample"] for one in told if one["sample"]), ""),
        "p50": percentile(latencies, 50),
        "p99": percentile(latencies, 99),
        "clientCpu": sum(one["cpu"] for one in told),
    }


def _told(worker: subprocess.Popen, seconds: float) -> Dict[str, Any]:
    output, _ = worker.communicate(timeout=seconds)
    if worker.returncode != 0:
        raise Trouble(f"a load process ended with {worker.returncode}")
    return json.loads(output)


def _shares(total: int, count: int) -> List[int]:
    return [total // count + (place < total % count) for place in range(count)]


def percentile(ordered: List[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
