#!/usr/bin/env python3
"""Compares the failures of a run of the drivers' specifications with those that are known.

  known.py KNOWN RESULTS    fails when another test has failed, when a known failure has not come, or when nothing passed

A line of KNOWN is the beginning of "area/file: description", behind it `#` and why; RESULTS is what the run printed.
"""
import pathlib
import re
import sys

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed")


def main(known_path, results_path):
    known = [line.split("#")[0].strip() for line in pathlib.Path(known_path).read_text().splitlines()]
    known = [line for line in known if line]
    lines = pathlib.Path(results_path).read_text().splitlines()
    failed = [line[len("FAIL "):].strip() for line in lines if line.startswith("FAIL ")]
    counts = COUNTS.match(lines[-1]) if lines else None
    new = [name for name in failed if not any(name.startswith(one) for one in known)]
    gone = [one for one in known if not any(name.startswith(one) for name in failed)]
    for name in new:
        print(f"    failed: {name}")
    for one in gone:
        print(f"    does not fail any more, take it out of {known_path}: {one}")
    print(f"    on a set: {counts[1] if counts else 0} passed, {len(new)} failed, {len(failed) - len(new)} failures are known")
    return 1 if new or gone or not counts or int(counts[1]) == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
