#!/usr/bin/env python3
"""Prints the benchmarks' lines as a table and writes them, with the machine they ran on, as one JSON document.

usage: table.py RESULTS.jsonl RESULTS.json
"""
import datetime
import json
import os
import platform
import sys


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def verdict(result):
    """The bound of the ratio, and whether it holds."""
    if result["floor"]:
        return f">= {result['floor']:.2f} {'ok' if result['ratio'] >= result['floor'] else 'BELOW'}"
    if result["ceiling"]:
        return f"<= {result['ceiling']:.2f} {'ok' if result['ratio'] <= result['ceiling'] else 'ABOVE'}"
    return "-"


def spread(result):
    """How far the ratio of a round lay from that of another: what noise of the machine the figure went through."""
    details = result["details"]
    return f"{details['ratioLowest']:.2f}-{details['ratioHighest']:.2f}" if "ratioLowest" in details else ""


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        results = [json.loads(line) for line in lines if line.strip()]
    rows = [("work", "unit", "Troupe", "reference", "ratio", "in a round", "bound", "against")]
    rows += [(r["work"], r["unit"], number(r["troupe"]), number(r["reference"]), f"{r['ratio']:.2f}", spread(r), verdict(r), r["against"]) for r in results]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for i, row in enumerate(rows):
        right = range(2, 5)
        print("  ".join(cell.rjust(w) if c in right else cell.ljust(w) for c, (cell, w) in enumerate(zip(row, widths))).rstrip())
        if i == 0:
            print("  ".join("-" * w for w in widths))
    machine = {"processor": processor(), "cores": os.cpu_count(), "kernel": platform.release(), "loadBefore15Minutes": os.getloadavg()[2]}
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump({"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "machine": machine, "results": results}, out, indent=2)
        out.write("\n")


if __name__ == "__main__":
    main()
