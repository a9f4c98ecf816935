#!/usr/bin/env python3
"""Writes docs/FAULTS.md from what the cut tests have recorded, or checks that it has every cut test.

    rm -rf target/faults
    TEST_FAULTS=$PWD/target/faults cargo test --test api
    scripts/fault-matrix.py target/faults      # writes docs/FAULTS.md
    scripts/fault-matrix.py --check            # fails if a cut test is missing, or one is gone

A cut test is a test of tests/api that calls cuts::everywhere, everywhere_then or everywhere_apart, itself or by a
function of its file.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "api"
TABLE = ROOT / "docs" / "FAULTS.md"

WAYS = {
    "Refused": "MongoDB refuses the command, and every later command of that name, before it applies it",
    "Unsure": "MongoDB applies the command, and every later command of that name, and answers that it doesn't know "
    "whether a majority has the write. Reads have no such case",
    "ReplyLost": "MongoDB applies the command, and the connection breaks before the answer. So it does when the command "
    "is sent again",
    "Killed": "the gateway dies before it sends the command: neither the command nor a later one arrives",
    "KilledAfter": "the gateway dies after MongoDB has applied the command, before the answer",
}

HEAD = """# Fault matrix

A cut test runs a flow once undisturbed, and records its commands. Then it runs the flow again for each command and
each of five ways in which the command can go wrong, each time on data of its own. Afterwards the sweeps run, and the
invariants must hold. Then the flow is repeated with the same idempotency keys, the test looks at what came of it, and
the sweeps and the invariants follow once more.

| way | what happens |
|---|---|
{ways}

The tables have one row for each test. A test that cuts several flows, or one flow with several settings, has a row
for each. *Commands* is the number of commands of the undisturbed run, and the columns of the ways have the number of
cases. All cases passed in the run that wrote this file. `scripts/fault-matrix.py` writes it; its first lines tell how.

{total}
"""


def functions(text):
    """Each function of a source with its attributes and its body."""
    found = []
    for match in re.finditer(r"^((?:[ \t]*#\[[^\n]*\]\n)*)[ \t]*(?:pub(?:\([a-z]+\))? )?(?:async )?fn (\w+)", text, re.M):
        start = text.find("{", match.end())
        depth, at = 0, start
        # Braces in strings are balanced, as GraphQL's and JSON's are.
        while at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
        found.append((match.group(2), match.group(1), text[start:at]))
    return found


def cut_tests():
    """Names of all cut tests."""
    names = set()
    for path in sorted(TESTS.rglob("*.rs")):
        parts = path.relative_to(TESTS).with_suffix("").parts
        if parts[0] in ("support", "main"):
            continue
        module = "::".join(part for part in parts if part != "mod")
        own = functions(path.read_text())
        cutting = {name for name, _, body in own if re.search(r"\bcuts::everywhere", body)}
        grows = True
        while grows:
            calls = {
                name
                for name, _, body in own
                if any(re.search(rf"(?<![\w.:]){other}\(", body) for other in cutting)
            }
            grows = not calls <= cutting
            cutting |= calls
        names |= {f"{module}::{name}" for name, attributes, _ in own if name in cutting and "::test" in attributes}
    return names


def write(folder):
    tests = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))]
    if not tests:
        sys.exit(f"{folder} has no records: run the tests with TEST_FAULTS={folder}")
    rooms = {}
    for test in tests:
        room, _, flow = test["test"].partition("::")
        rooms.setdefault(room, []).extend((flow, run) for run in test["runs"])
    cases = lambda runs: sum(sum(run["ways"].values()) for _, run in runs)
    every = [row for rows in rooms.values() for row in rows]
    total = (
        f"In all: {len(tests)} tests, {len(every)} flows, {sum(len(run['commands']) for _, run in every)} commands, "
        f"{cases(every):,} cases."
    )
    ways = "\n".join(f"| {way} | {text}. |" for way, text in WAYS.items())
    text = HEAD.format(ways=ways, total=total)
    for room, rows in sorted(rooms.items()):
        text += f"\n## {room}\n\n| test | commands | {' | '.join(WAYS)} | cases |\n|---{'|--:' * (len(WAYS) + 2)}|\n"
        for flow, run in rows:
            counts = [run["ways"][way] for way in WAYS]
            numbers = [len(run["commands"]), *counts, sum(counts)]
            text += f"| `{flow}` | {' | '.join(map(str, numbers))} |\n"
        sums = [sum(run["ways"][way] for _, run in rows) for way in WAYS]
        numbers = [sum(len(run["commands"]) for _, run in rows), *sums, sum(sums)]
        text += f"| **all** | {' | '.join(map(str, numbers))} |\n"
    TABLE.write_text(text)
    print(total)


def check():
    there, room = set(), ""
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        if line.startswith("## "):
            room = line[3:]
        elif row := re.match(r"\| `([\w:]+)` \|", line):
            there.add(f"{room}::{row.group(1)}")
    tests = cut_tests()
    faults = [f"docs/FAULTS.md lacks the cut test {name}" for name in sorted(tests - there)]
    faults += [f"docs/FAULTS.md has {name}, which is no cut test" for name in sorted(there - tests)]
    if faults:
        sys.exit("\n".join(faults) + "\nscripts/fault-matrix.py tells how to write it anew")
    print(f"docs/FAULTS.md has all {len(tests)} cut tests")


match sys.argv[1:]:
    case ["--check"]:
        check()
    case ["--list"]:
        print("\n".join(sorted(cut_tests())))
    case [folder] if not folder.startswith("-"):
        write(folder)
    case _:
        sys.exit(__doc__)
