"""Many failovers, and a table at the end (run.sh --failovers N).

usage: python3 -m failovers [--failovers N]
"""
import argparse
import sys

from .faults import KINDS
from .run import Run


def fail_over_often(run, count):
    """Returns what is wrong."""
    try:
        for number in range(count):
            fault = run.fail_over(list(KINDS)[number % len(KINDS)])
            print(f"    failover {fault.number}: {fault.kind}, {fault.over - fault.begun:.1f} s until all members followed"
                  f"{', rolled back' if fault.rolled_back else ''}", file=sys.stderr, flush=True)
        return run.complaints()
    except AssertionError as failure:
        return [str(failure)]


def main():
    parser = argparse.ArgumentParser(prog="failovers")
    parser.add_argument("--failovers", type=int, default=100, help="how many; all kinds in turn")
    count = parser.parse_args().failovers
    with Run() as run:
        complaints = fail_over_often(run, count)
        if run.faults:
            print(run.table())
        for complaint in complaints:
            print("FAIL " + complaint)
        if complaints:
            run.keep()
    print("0 passed, 1 failed" if complaints else "1 passed, 0 failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
