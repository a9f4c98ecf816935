#!/usr/bin/env python3
"""docgate's benchmark; `--help` tells everything."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import chart
import report
import servers
from bench import Bench, say
from client import Refused
from options import HERE, ROOT, arguments
from processes import Processes, Trouble


def write_report(folder: Path) -> None:
    path = folder / "results.json"
    if not path.is_file():
        raise Trouble(f"there is no {path}: measure first")
    results = json.loads(path.read_text())
    (folder / "results.svg").write_text(chart.draw(results))
    (folder / "RESULTS.md").write_text(report.write(results))
    say(f"Written: {folder / 'RESULTS.md'}")


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if not options.report_only:
            if not shutil.which("wrk"):
                raise Trouble("wrk isn't on PATH: install it (apt-get install wrk)")
            if not options.no_build:
                servers.build(ROOT, HERE)
            with tempfile.TemporaryDirectory(prefix="docgate-bench-") as folder:
                with Processes(Path(folder)) as processes:
                    Bench(options, processes, Path(folder)).run()
        write_report(options.out)
    except (Trouble, Refused) as trouble:
        say(f"bench: {trouble}")
        return 1
    except KeyboardInterrupt:
        say("bench: interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
