#!/usr/bin/env python3
"""Runs a command, and pauses the mongods that it starts now and then.

A busy machine stops a process for a moment. A test that needs an answer within that moment fails on such a machine only.
This script makes it fail on any machine:

    scripts/stalls.py cargo test --locked --test api

Only mongods that descend from the command are paused. The exit code is the command's.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time


def processes():
    """Of each process: its id, its parent's, and its name."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as stat:
                # The name stands in parentheses, and may have some of its own.
                before, _, after = stat.read().rpartition(")")
        except OSError:
            continue
        yield int(entry), int(after.split()[1]), before.partition("(")[2]


def mongods_of(ancestor):
    """Ids of the mongods that descend from the process."""
    known = {pid: (parent, name) for pid, parent, name in processes()}

    def descends(pid):
        while pid in known and pid != ancestor:
            pid = known[pid][0]
        return pid == ancestor

    return [pid for pid, (_, name) in known.items() if name == "mongod" and descends(pid)]


def signalled(pids, number):
    """Sends the signal to those that are still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pause", type=float, default=0.7, metavar="SECONDS", help="how long a pause is (0.7)")
    parser.add_argument("--every", type=float, default=7, metavar="SECONDS", help="from pause to pause, on average (7)")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("which command?")
    child = subprocess.Popen(options.command)
    pauses = 0
    while child.poll() is None:
        until = time.monotonic() + options.every * random.uniform(0.5, 1.5)
        while child.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        paused = mongods_of(child.pid)
        try:
            signalled(paused, signal.SIGSTOP)
            time.sleep(options.pause)
        finally:
            signalled(paused, signal.SIGCONT)
        pauses += bool(paused)
    print(f"{pauses} pauses of {options.pause} s", file=sys.stderr)
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
