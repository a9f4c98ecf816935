#!/usr/bin/env python3
"""Writes THIRD-PARTY-NOTICES.md: the crates that are linked into docgate's binary, and their licences.

    scripts/third-party-notices.py            # writes it
    scripts/third-party-notices.py --check    # fails where it isn't what is written

Needs cargo, and the sources of the dependencies, which cargo fetches. A crate under a choice of licences is
taken under the first of PREFERRED that it offers; texts that are the same but for white space and signs stand
once, and so does the Apache licence, whose copies differ in an appendix.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTICES = ROOT / "THIRD-PARTY-NOTICES.md"
TARGET = "x86_64-unknown-linux-gnu"
# The Apache licence first: its text is the same for all, where the others have a line of their own for each.
PREFERRED = ["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT", "BSD-3-Clause", "BSD-2-Clause", "ISC",
             "Unicode-3.0", "Zlib", "CC0-1.0", "CDLA-Permissive-2.0", "MPL-2.0"]
# How files with a licence's text are named, by what the text is.
MARKS = {
    "MIT": "permission is hereby granted, free of charge",
    "Apache-2.0": "version 2.0, january 2004",
    "Apache-2.0 WITH LLVM-exception": "llvm exceptions",
    "BSD-3-Clause": "redistribution and use in source and binary forms",
    "BSD-2-Clause": "redistribution and use in source and binary forms",
    "ISC": "permission to use, copy, modify, and",
    "Unicode-3.0": "unicode license v3",
    "Zlib": "this software is provided 'as-is'",
    "CC0-1.0": "cc0 1.0 universal",
    "CDLA-Permissive-2.0": "permissive - version 2.0",
    "MPL-2.0": "mozilla public license",
}
HEAD = """\
# Notices of third parties

docgate's binary contains the crates below, under the licences that stand behind their names. This file is written by
`scripts/third-party-notices.py`, for the binary on Linux on x86-64. A binary that was built with GraphiQL contains the
packages of `web/graphiql` too and serves their licences at `/graphiql/licenses.txt`. One that was built with the storefront
contains packages of `examples/storefront`, and `docgate demo` serves their licences at `/shop/licenses.txt`.

The crates under the Mozilla Public License are used unchanged; their sources are at the addresses below.

"""


def cargo(*arguments):
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked():
    """The packages of the binary: what it needs at run time, without macros and build scripts."""
    about = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))
    tree = cargo("tree", "--edges", "normal,no-proc-macro", "--target", TARGET, "--prefix", "none", "--format", "{p}")
    found = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = [one for one in about["packages"] if one["source"] and (one["name"], f"v{one['version']}") in found]
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def chosen(package):
    """The licences that hold for a package, each a choice that was made."""
    expression = package["license"].replace("/", " OR ")
    parts = re.split(r"\s+AND\s+", re.sub(r"[()]", " ", expression)) if " AND " in expression else [expression]
    licences = []
    for part in parts:
        offered = [one.strip() for one in part.split(" OR ")]
        known = [one for one in PREFERRED if one in offered]
        if not known:
            sys.exit(f"{package['name']}: no known licence among {package['license']}")
        licences.append(known[0])
    return sorted(set(licences))


def text(package, licence):
    """The text of a licence as the package ships it; nothing where it ships none."""
    folder = pathlib.Path(package["manifest_path"]).parent
    named = [path for path in sorted(folder.iterdir())
             if path.is_file() and re.match(r"(?i)(licen[cs]e|copying|unlicense|notice)", path.name)]
    for path in named:
        content = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()
        if MARKS[licence] in re.sub(r"\s+", " ", content.lower()):
            return content
    return None


def notice(package):
    """What a package under the Apache licence wants passed on."""
    path = pathlib.Path(package["manifest_path"]).parent / "NOTICE"
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else None


def written():
    packages = linked()
    texts, lacking, rows = {}, {}, []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licences = chosen(package)
        source = package["repository"] or f"https://crates.io/crates/{package['name']}"
        rows.append(f"- [{name}]({source}): {', '.join(licences)}")
        for licence in licences:
            own = text(package, licence)
            if own is None:
                lacking.setdefault(licence, []).append(name)
                continue
            same = (licence, "" if licence == "Apache-2.0" else re.sub(r"\W+", " ", own.lower()).strip())
            texts.setdefault(same, (licence, own, []))[2].append(name)
    parts = [HEAD, "\n".join(rows), "\n"]
    for licence, own, names in sorted(texts.values(), key=lambda one: (one[0], one[2])):
        parts.append(f"\n## {licence}\n\n{', '.join(names)}\n\n```text\n{own}\n```\n")
    for licence, names in sorted(lacking.items()):
        parts.append(f"\n## {licence}, of which the crate ships no text\n\n{', '.join(names)}\n")
    for package in packages:
        if own := notice(package):
            parts.append(f"\n## Notice of {package['name']} {package['version']}\n\n```text\n{own}\n```\n")
    return "".join(parts)


def main():
    new = written()
    if "--check" in sys.argv[1:]:
        if not NOTICES.exists() or NOTICES.read_text(encoding="utf-8") != new:
            sys.exit("THIRD-PARTY-NOTICES.md isn't what scripts/third-party-notices.py writes")
        return
    NOTICES.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
