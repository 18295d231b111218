"""Runs the test classes whose names come on the standard input, one after the other, for runner.py. Prints a line for each
test, with the details of a failure, and the counts after each class.

usage: worker.py TEXT FOLDER...    where the classes are looked for, and what their tests' names have to contain
"""
import os
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A worker separates its tests' outputs with END: each is printed whole. The line of a class's counts begins with COUNTS.
END, COUNTS = "\x1e", "\x1d"


class OneLine(unittest.TestResult):
    """Prints a line per test with its time; details of failures at once, for long runs are watched."""

    def __init__(self):
        super().__init__()
        self.passed = 0
        self.skips = 0

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()

    def _say(self, verdict, test, detail=""):
        seconds = time.monotonic() - getattr(self, "_started", time.monotonic())
        said = f"{verdict:4} {seconds:6.1f}s  {name_of(test)}"
        if detail:
            said += "\n      " + own_frames(detail).replace("\n", "\n      ")
        print(said + END, end="", flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self._say("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._say("FAIL", test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._say("FAIL", test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            where = self.failures if issubclass(err[0], test.failureException) else self.errors
            self._say("FAIL", subtest, where[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.skips += 1
        self._say("skip", test, reason)


def name_of(test):
    return test.id() if hasattr(test, "id") else str(test)


def own_frames(traceback):
    """A traceback without the frames that lie outside of the tests."""
    kept, keep = [], True
    for line in traceback.rstrip().splitlines():
        if line.startswith('  File "'):
            keep = str(HERE.parent) in line
        elif not line.startswith("  "):
            keep = True
        if keep:
            kept.append(line)
    return "\n".join(kept)


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def find_classes(folders):
    """Name of a class -> its tests."""
    classes = {}
    for folder in folders:
        sys.path.insert(0, str(folder))
        for test in flatten(unittest.TestLoader().discover(str(folder), pattern="*_test.py")):
            classes.setdefault(f"{type(test).__module__}.{type(test).__qualname__}", []).append(test)
    return classes


def matching(classes, text):
    """Of these classes the tests whose name contains the text."""
    found = {name: [test for test in tests if text.lower() in name_of(test).lower()] for name, tests in classes.items()}
    return {name: tests for name, tests in found.items() if tests}


def main():
    orders = os.fdopen(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # programs that tests start do not read the orders
    classes = matching(find_classes(sys.argv[2:]), sys.argv[1])
    for name in orders:
        result = OneLine()
        unittest.TestSuite(classes[name.strip()]).run(result)
        print(f"{COUNTS}{result.passed} {len(result.failures) + len(result.errors)} {result.skips}{END}", end="", flush=True)


if __name__ == "__main__":
    main()
