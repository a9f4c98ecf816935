"""The report: the tables and what they mean, as Markdown."""

from __future__ import annotations

from typing import Any, Dict, List

import growth
import social
import targets
import transfers
from options import command
from results import MAIN, Found, Results, counted, digits, mebibytes, median, spread
from scenarios import IN_FLIGHT, WORKERS
from scenarios import TITLES as SCENARIOS
from servers import ALL, DOCGATE, EARLIER, TITLES

#: From this share of one processor on, the load generator itself may be what limits.
BUSY = 0.7


def work_table(found: Found, work: str) -> List[str]:
    lines = [
        "| connections | server | per second | p50, ms | p99, ms "
        "| CPU of server, µs each | CPU of mongod, µs each | docgate : it |",
        "|---:|---|---|---:|---:|---:|---:|---|",
    ]
    for connections in found.results["settings"]["connections"]:
        for server in ALL:
            runs = found.runs(work, connections, server)
            if not runs:
                continue
            rates = list(found.rates(work, connections, server).values())
            latency = " | ".join(digits(median([run[key] for run in runs])) for key in ("p50", "p99"))
            cpu = " | ".join(digits(micros_each(runs, key)) for key in ("serverCpu", "mongodCpu"))
            ratios = [] if server == DOCGATE else found.ratios(work, connections, DOCGATE, server)
            ratio = spread(ratios) if ratios else ""
            lines.append(
                f"| {connections} | {TITLES[server]} | {spread(rates)} | {latency} | {cpu} | {ratio} |"
            )
    return lines


def micros_each(runs: List[Dict[str, Any]], key: str) -> float:
    """CPU time of one request, of all rounds together: the system counts it in steps of 10 ms."""
    done = sum(run["done"] for run in runs)
    return sum(run.get(key, 0) for run in runs) / done * 1e6 if done else 0.0


def scenario_table(found: Found) -> List[str]:
    lines = [
        "| scenario | docgate, per second | Node driver directly | docgate : directly "
        "| CPU of docgate, µs each | CPU of mongod for it | CPU of Node, directly | CPU of mongod for that "
        "| directly, write concern 1 | docgate : as it was |",
        "|---|---|---|---|---:|---:|---:|---:|---|---|",
    ]
    for name, title in SCENARIOS.items():
        ours, direct = found.scenario_runs(name, "docgate"), found.scenario_runs(name, "direct")
        if not ours:
            continue
        rates = spread(list(found.scenario_rates(name, "docgate").values()))
        theirs = spread(list(found.scenario_rates(name, "direct").values())) if direct else "not measured"
        ratio = spread(found.scenario_ratios(name)) if direct else ""
        cpu = " | ".join(digits(micros_each(ours, key)) for key in ("serverCpu", "mongodCpu"))
        keys = ("serverCpu", "mongodCpu")
        node = " | ".join(digits(micros_each(direct, key)) if direct else "" for key in keys)
        weaker = list(found.scenario_rates(name, "direct1").values())
        before = found.scenario_ratios(name, EARLIER)
        last = " | ".join(spread(values) if values else "" for values in (weaker, before))
        lines.append(f"| {title} | {rates} | {theirs} | {ratio} | {cpu} | {node} | {last} |")
    return lines


def growth_table(found: List[Dict[str, Any]]) -> List[str]:
    lines = [
        "| read | returned | documents looked at beyond that | keys beyond that | may be "
        "| ms with few | ms with many | many : few |",
        "|---|---:|---:|---:|---|---:|---:|---|",
    ]
    for read in found:
        small, large = read["millis"]
        limit = "0 and 1" if read["oneRange"] else f"{read['allowed']} for each of a page"
        limit += "" if growth.keeps_bounds(read) else ", **more than it may**"
        shown = ("returned", "docsBeyond", "keysBeyond")
        seen = [read["figures"][-1][figure] for figure in shown] if read["figures"] else ["–"] * 3
        limit = limit if read["figures"] else "–"
        ratio = spread([many / few for few, many in zip(small, large)])
        lines.append(
            f"| {read['read']} | {seen[0]} | {seen[1]} | {seen[2]} "
            f"| {limit} | {digits(median(small))} | {digits(median(large))} | {ratio} |"
        )
    return lines


def growth_text(found: List[Dict[str, Any]]) -> str:
    few, many = found[0]["counts"]
    return GROWTH_TEXT.format(few=few, many=many, explained=growth.EXPLAINED)


def transfer_table(found: List[Dict[str, Any]]) -> List[str]:
    lines = [
        "| | docgate, MiB a second | driver's streams | docgate : it | resident before | at the most |",
        "|---|---|---|---|---:|---:|",
    ]
    for direction in transfers.DIRECTIONS:
        ours = transfers.runs(found, direction, "docgate")
        if not ours:
            continue
        speeds = [spread(transfers.speeds(found, direction, side)) for side in ("docgate", "driver")]
        before = median([run["residentBefore"] for run in ours])
        most = max(run["residentBytes"] for run in ours)
        lines.append(
            f"| {direction} | {' | '.join(speeds)} | {spread(transfers.ratios(found, direction))} "
            f"| {mebibytes(before)} | {mebibytes(most)} |"
        )
    return lines


def delivery_table(found: List[Dict[str, Any]]) -> List[str]:
    lines = [
        "| | ms until all have it | ms until answered | CPU of docgate, ms each | CPU of mongod, ms each "
        "| time of docgate : of it |",
        "|---|---|---|---:|---:|---|",
    ]
    for side in social.SIDES:
        times = spread(list(social.millis(found, side).values()))
        cpu = digits(social.cpu_millis(found, side, "mongodCpu"))
        if side == "docgate":
            answered = spread(list(social.millis(found, side, "answered").values()))
            own = digits(social.cpu_millis(found, side, "serverCpu"))
            lines.append(f"| docgate | {times} | {answered} | {own} | {cpu} |  |")
        else:
            lines.append(f"| the driver's writes alone | {times} |  |  | {cpu} | {spread(social.ratios(found))} |")
    return lines


def server_table(found: Found) -> List[str]:
    lines = [
        "| server | start to ready, in ms | resident when idle | under 256 connections, at the most |",
        "|---|---|---|---|",
    ]
    for server in ALL:
        told = found.results["servers"].get(server)
        if not told:
            continue
        most = found.most_resident(server, 256)
        shown = mebibytes(most) if most else "not measured"
        lines.append(
            f"| {TITLES[server]} | {spread(told['readyMillis'])} | {mebibytes(told['idleBytes'])} | {shown} |"
        )
    return lines


def remarks(found: Found) -> List[str]:
    """What a reader has to know of this run."""
    return [*found.results["remarks"], *failures(found), *how_busy(found)]


def failures(found: Found) -> List[str]:
    """What failed while it was measured, all rounds together."""
    titles = {work["name"]: work["title"] for work in found.results["works"]}
    runs: Dict[str, List[Dict[str, Any]]] = {}
    for run in found.results["runs"]:
        what = f"{titles[run['work']]}, {run['connections']} connections, {TITLES[run['server']]}"
        runs.setdefault(what, []).append(run)
    for run in found.results["scenarios"]:
        runs.setdefault(f"{SCENARIOS[run['scenario']]}, {run['side']}", []).append(run)
    lines = []
    for what, group in runs.items():
        failed = sum(run["failures"] for run in group)
        if failed:
            share = failed / (failed + sum(run["done"] for run in group))
            sample = next((run["sample"] for run in group if run["sample"]), "no answer")
            sample = " ".join(sample.replace("`", "'").split())[:160]
            lines.append(f"{what}: {failed:,} failures ({share:.2%}), such as `{sample}`.")
    return lines


def how_busy(found: Found) -> List[str]:
    """Whether the load generator may have been the limit."""
    lines = []
    settings = found.results["settings"]
    clients = [("wrk", "wrk", settings["threads"])]
    clients.append(("own", "the bench's own client", settings["client_processes"]))
    for client, name, count in clients:
        runs = [*found.results["runs"], *found.results["scenarios"]]
        runs = [run for run in runs if run.get("client") == client]
        shares = [run["clientCpu"] / run["seconds"] / count for run in runs]
        busy = sum(share > BUSY for share in shares)
        if not shares:
            continue
        most = f"{max(shares):.0%} of {'a' if count == 1 else 'each'} processor at the most"
        if busy:
            lines.append(
                f"The load generator may have been the limit: {name} used more than {BUSY:.0%} of its "
                f"time in {busy} of {len(shares)} runs ({most})."
            )
        else:
            lines.append(f"The load generator wasn't the limit: {name} used {most}.")
    runs = [*found.results["runs"], *found.results["scenarios"]]
    others = sorted(run["others"] for run in runs if "others" in run)
    if others:
        cores, late = found.results["machine"]["cores"], others[int(len(others) * 0.9)]
        lines.append(
            f"Other processes of the machine, and servers that weren't measured, used {median(others):.0%} of a "
            f"processor in the median run and {late:.0%} in one of ten, of {counted(cores, 'processor')}."
        )
    return lines


def write(results: Results) -> str:
    found = Found(results)
    settings, machine = results["settings"], results["machine"]
    rounds = f"{counted(settings['rounds'], 'round')} of {settings['seconds']} s"
    parts = ["# Benchmark", ""]
    if settings["quick"]:
        parts += ["**A quick run, to see whether everything works. Its numbers mean nothing.**", ""]
    if "minutes" in results:
        length = f", {counted(round(results['minutes']) or 1, 'minute')} in all."
    else:
        length = "; the run was cut, what is missing is missing."
    parts += [
        f"Measured on {results['when'][:10]} with `{command(settings)}`: "
        f"{rounds} each after {settings['warm_up']} s of warm-up{length}",
        "",
        "![throughput](results.svg)",
        "",
        "## Targets",
        "",
        f"At {MAIN} connections where nothing else is said; ratios are throughput to throughput.",
        "",
        *targets.table(found),
        "",
    ]
    for work in results["works"]:
        parts += [f"## {work['title']}", "", work["what"], "", *work_table(found, work["name"]), ""]
    if results["scenarios"]:
        parts += ["## The simulator's scenarios", "", SCENARIO_TEXT, "", *scenario_table(found), ""]
    if results.get("growth"):
        parts += ["## What reads look at", "", growth_text(results["growth"]), ""]
        parts += [*growth_table(results["growth"]), ""]
    if results.get("delivery"):
        parts += ["## A post to many followers", "", DELIVERY_TEXT, "", *delivery_table(results["delivery"]), ""]
    if results.get("transfers"):
        size = results["transfers"][0]["bytes"] // 2**20
        parts += ["## Large files", "", TRANSFER_TEXT.format(size=size), ""]
        parts += [*transfer_table(results["transfers"]), ""]
    if results["servers"]:
        parts += ["## Start and memory", "", START_TEXT, "", *server_table(found), ""]
    versions = [
        f"{name.replace('npm ', '')} {version}" for name, version in results["versions"].items() if version
    ]
    parts += ["## How it was measured", "", method(settings, results["versions"]), ""]
    parts += [
        "## Where",
        "",
        f"- {machine['cores']} cores of {machine['cpu']}, "
        f"{machine['memoryBytes'] / 2**30:.0f} GiB of memory, {machine['system']}.",
        f"- {', '.join(versions)}.",
        "",
    ]
    told = remarks(found)
    if told:
        parts += ["## Remarks", "", *(f"- {line}" for line in told), ""]
    return "\n".join(parts)


SCENARIO_TEXT = f"""\
Closed loop, {IN_FLIGHT} in flight, the two sides in turn on the same mongod, each with data of the same
shape in a database of its own: 3,905 categories, 16,384 products, 1,000 of them with a million in
stock, 10,000 accounts, 100 assets of two attributes; for the languages 256 categories with 8 products each,
to which they are added, and 10,000 with one, from which they are removed. One op is one whole iteration.
Directly means a Node script that sends the commands straight through the driver, without HTTP and GraphQL and without docgate's guards and idempotency keys,
with the same write concern, `majority`; the last column is with write concern 1, as the simulator has it,
where an answered write may be lost. It is its own load, while docgate's comes from another process. A cart
is three requests to docgate, everything else is one; its products are free, so that no payment provider is asked.

The slice cache and the languages take more commands here than there. The slice cache is one `$push` there; here a comment is
posted, which is inserted, then counted and pushed by one update, then shown: three writes, so that none is
counted twice or shown uncounted whatever is cut. A language is two updates there, of the category and of its
products; here the category's update also notes that copies are to follow, what is below it is looked for, and
a third write takes the note away.

Of the work queue {WORKERS} workers each enqueue a job, claim the next one and complete it: three requests here,
an `insert` and two `findAndModify` there. It is measured once more beside as many finished jobs as the growth
below has documents."""

GROWTH_TEXT = """\
Two databases on the same mongod with {few:,} and {many:,} documents in each of eight collections, a docgate
on each. What a read looks at is what the server's `explain` says of it, through docgate
(`X-Docgate-Explain`), the most of {explained} reads in the larger database; what tells whether there is a
next page counts as returned. Times are of one connection to each, request by request in turn, medians of each round, of the same
keys after they were asked for once: so of what the server has in memory, with a cache of 4 GiB instead of the
demo's 0.5. Reads whose bounds are
one range of an index may look at no other document and at one key more. Text search is an aggregation, of
which docgate tells no figures."""

DELIVERY_TEXT = f"""\
One author with {social.READERS:,} followers posts; each follower's news get a copy. docgate: from the request of
`createPost` until the post isn't being delivered any more, which the bench looks for every 2 ms. That includes the
insert of the post, and jobs of the work queue, each of which reads 500 followers and writes their copies. The driver
(Rust) knows the followers, and writes the copies alone: commands `update` of 1,000 upserts with `$push`, unordered and
one after the other, which is what a driver's `bulkWrite` sends. Both write with `majority`, neither with the record of
retryable writes, into pages of up to 50 copies with the same indexes, in two collections that begin as the same. The
pages are of all lengths, so that with each post one in fifty becomes full. Both sides post in turn, one post at a time.
After each post every feed has to have its copy, and after each round the feeds of both sides have as many pages and
copies. The time of a round is that of the post in the middle."""

TRANSFER_TEXT = """\
One file of {size:,} MiB that no compression makes smaller: put and got through docgate over HTTP, by a client
on the same cores, and written and read by the driver's own GridFS streams in a process by itself, without
HTTP; both with majority writes into the same mongod, in turn. docgate also computes the SHA-256. Memory is
docgate's: before each transfer, and the most that was seen ten times a second while it went on."""

START_TEXT = """\
Ready means: docgate's `/health/ready` says 200, a peer says that it serves. Idle is 1.5 s after that,
before any request. Under 256 connections is the most that was seen in any run with them, ten times a
second."""

METHOD = """\
- **The same for all.** One mongod, a replica set of one on this machine, with `docgate demo`'s shop of
  {products:,} products; all servers read and write the same documents. Before a work is measured, each
  GraphQL server is asked the same, and its answers must equal docgate's. docgate runs as in production,
  the Node peers with `NODE_ENV=production`, one process each.
- **The load** comes from wrk with {threads} and keep-alive connections, each of which sends its next
  request when it has the answer to the last one. Keys are drawn at random, in a round the same ones for
  every server. What is still under way when a run ends counts for nothing. Whole checkouts and carts
  come from {client_processes} of the bench's own, since wrk can't send several requests one after the
  other.
- **In turn.** Each round drives every server once, in another order each time. All are running
  meanwhile, only one has work; what docgate's sweeps do after its writes falls into the others' time too.
{earlier}- **What is told**: the median of the rounds and, in brackets, the lowest and highest. A ratio is the
  median of the ratios of the rounds, above 1 where docgate does more. CPU time is that of all threads,
  the system's for them included, of all rounds together; the system counts it in steps of 10 ms. Load
  generator, server and mongod share the machine's cores: throughput is what all three have together.
- **Failures** (no answer, a status other than 2xx, GraphQL errors, refusals) don't count as done; the
  remarks name all of them. To look into an answer takes wrk as much processor time as a fast server takes to
  give it, so reads are looked into in the warm-up only: in the rounds they fail by their status, and the bench
  ends where the mean size of the answers differs by more than a tenth from those that were looked into."""


EARLIER_METHOD = """\
- **docgate as it was** is an earlier docgate ({version}) on the same mongod, with copies of docgate's databases and
  indexes of its own. It is asked the same in the words of its own schema.
"""


def method(settings: Dict[str, Any], versions: Dict[str, str]) -> str:
    earlier = versions.get(TITLES[EARLIER])
    return METHOD.format(
        earlier=EARLIER_METHOD.format(version=earlier) if earlier else "",
        products=settings["products"],
        threads=counted(settings["threads"], "thread"),
        client_processes=counted(settings["client_processes"], "process"),
    )
