#!/usr/bin/env python3
"""Compares the functional suite's table of results with the floor of each folder.

  floors.py FLOORS TABLE            fails when a folder passes fewer of its cases than its floor says
  floors.py --raise FLOORS TABLE    writes the floors again: each as high as it was reached, none lower than it was

A line of FLOORS is "folder percent"; a line of TABLE is "folder N passed M failed K skipped". Floors may only rise. A
floor is what was reached less half a percent, which a busy machine may take by time-outs.
"""
import pathlib
import re
import sys

SLACK = 0.5
ROW = re.compile(r"^(\S+)\s+(\d+) passed\s+(\d+) failed\s+(\d+) skipped$")


def read_table(path):
    """Percent of the cases that pass, by folder; single files count with the folder above them."""
    counts = {}
    for line in pathlib.Path(path).read_text().splitlines():
        row = ROW.match(line)
        if not row:
            continue
        folder = row[1].split("::")[0]
        if folder.endswith(".py"):
            folder = folder.rsplit("/", 1)[0]
        passed, failed = counts.get(folder, (0, 0))
        counts[folder] = passed + int(row[2]), failed + int(row[3])
    return {folder: (passed, failed) for folder, (passed, failed) in counts.items() if passed + failed}


def read_floors(path):
    floors = {}
    if pathlib.Path(path).exists():
        for line in pathlib.Path(path).read_text().splitlines():
            if line and not line.startswith("#"):
                folder, percent = line.split()
                floors[folder] = float(percent)
    return floors


def percent(passed, failed):
    return 100 * passed / (passed + failed)


def compare(floors, table):
    below = [f"{folder}: no case ran (floor {floor:.1f} %)" for folder, floor in floors.items() if folder not in table]
    for folder, (passed, failed) in sorted(table.items()):
        reached, floor = percent(passed, failed), floors.get(folder, 0)
        mark = "  BELOW its floor" if reached < floor else ""
        print(f"    {folder:45} {passed:6} of {passed + failed:6}  {reached:5.1f} %  floor {floor:5.1f} %{mark}")
        if mark:
            below.append(f"{folder}: {reached:.1f} %, floor {floor:.1f} %")
    passed, failed = (sum(row[i] for row in table.values()) for i in (0, 1))
    print(f"    functional: {passed} of {passed + failed} cases pass")
    for line in below:
        print(f"    {line}")
    return 1 if below or not table else 0


def raise_floors(path, floors, table):
    for folder, counts in table.items():
        reached = int(10 * max(0, percent(*counts) - SLACK)) / 10
        floors[folder] = max(floors.get(folder, 0), reached)
    lines = [f"{folder} {floor:.1f}" for folder, floor in sorted(floors.items())]
    pathlib.Path(path).write_text("# Least percent of a folder's cases that pass; only ever raised (floors.py --raise).\n" +
                                  "\n".join(lines) + "\n")
    return 0


def main(arguments):
    raising = arguments[:1] == ["--raise"]
    floors_path, table_path = arguments[1:] if raising else arguments
    floors, table = read_floors(floors_path), read_table(table_path)
    return raise_floors(floors_path, floors, table) if raising else compare(floors, table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
