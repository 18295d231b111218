#!/usr/bin/env python3
"""Plants bugs in the sources, one at a time, and tells which of them the tests notice; called by `./dev mutants --source`.

usage: source_mutants.py [--build FOLDER] [TEXT]    TEXT: part of a mutant's table or name; without it all are planted

A mutant is a row of a table beside this file (*.toml): a text that occurs once in a file, what takes its place, and the tests
that have to fail then. Each file is put back as it was, also after Ctrl-C; what a killed run has left is put back by the next
one. The machines of protocols have mutants of their own (`./dev mutants`), which need no build."""
import argparse
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 600


@dataclass
class Mutant:
    table: str
    name: str
    file: str
    text: str
    replacement: str
    program: str
    tests: str

    def fault(self, content):
        """Why it cannot be planted in the file's content; empty: it can."""
        count = content.count(self.text)
        if count != 1:
            return f"its text occurs {count} times in {self.file}, not once"
        return "it changes nothing" if self.text == self.replacement else ""


def read_tables(folder=Path(__file__).parent):
    return [Mutant(table.stem, **row) for table in sorted(folder.glob("*.toml")) for row in tomllib.loads(table.read_text())["mutant"]]


def stale(mutants, root=ROOT):
    """(mutant, why) of those whose row does not fit the sources any more."""
    found = []
    for mutant in mutants:
        path = root / mutant.file
        why = mutant.fault(path.read_text()) if path.is_file() else f"there is no {mutant.file}"
        if why:
            found.append((mutant, why))
    return found


class Planted:
    """The sources with one mutant, for the time of a `with`."""

    def __init__(self, mutant, build, root=ROOT):
        self.path, self.mutant = root / mutant.file, mutant
        self.original = build / "mutant-original"
        self.place = build / "mutant-place"

    def __enter__(self):
        content = self.path.read_text()
        self.original.write_text(content)
        self.place.write_text(str(self.path))
        self.path.write_text(content.replace(self.mutant.text, self.mutant.replacement))

    def __exit__(self, *_):
        put_back(self.original.parent)


def put_back(build):
    """What is planted now, or was by a run that was killed."""
    original, place = build / "mutant-original", build / "mutant-place"
    if original.is_file() and place.is_file():
        Path(place.read_text()).write_text(original.read_text())
    original.unlink(missing_ok=True)
    place.unlink(missing_ok=True)


def compiles(build, programs):
    done = subprocess.run(["ninja", "-C", str(build), *programs], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout[-2000:]


def fails(build, mutant):
    """Whether its tests fail: a crash or an endless loop is a failure, a filter without tests is none."""
    command = [str(build / "bin" / mutant.program), f"--gtest_filter={mutant.tests}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return True
    if " 0 tests from" in done.stdout:
        sys.exit(f"no test of {mutant.program} is called {mutant.tests}")
    return done.returncode != 0


def outcome_of(build, mutant):
    with Planted(mutant, build):
        error = compiles(build, [mutant.program])
        if error:
            return "does not compile", error
        return ("noticed", "") if fails(build, mutant) else ("NOT NOTICED", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--check", action="store_true", help="only see whether each row fits the sources")
    parser.add_argument("text", nargs="?", default="")
    options = parser.parse_args()
    build = Path(options.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    put_back(build)
    mutants = [m for m in read_tables() if options.text in f"{m.table} {m.name}"]
    if not mutants:
        sys.exit(f"no mutant is called '{options.text}'")
    for mutant, why in stale(mutants):
        sys.exit(f"{mutant.table}: '{mutant.name}': {why}")
    if options.check:
        return 0
    programs = sorted({m.program for m in mutants})
    error = compiles(build, programs)
    if error:
        sys.exit(error)
    for mutant in mutants:
        if fails(build, mutant):
            sys.exit(f"{mutant.tests} of {mutant.program} fails without a mutant")
    width = max(len(m.name) for m in mutants)
    bad = 0
    for mutant in mutants:
        begun = time.monotonic()
        outcome, error = outcome_of(build, mutant)
        bad += outcome != "noticed"
        print(f"{mutant.name:<{width}}  {outcome:<16}  {mutant.tests:<55}  {time.monotonic() - begun:4.0f} s", flush=True)
        if error:
            print(error)
    error = compiles(build, programs)  # without the last mutants
    if error:
        sys.exit(error)
    print(f"{len(mutants) - bad} of {len(mutants)} mutants were noticed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
