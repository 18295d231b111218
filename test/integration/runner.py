"""Finds the tests of this folder and of test/security, runs them one after the other and prints one line for each."""
import argparse
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = (HERE, HERE.parent / "security")


class OneLine(unittest.TestResult):
    """Prints a line per test with its time; details of failures at once, for long runs are watched."""

    def __init__(self):
        super().__init__()
        self.passed = 0
        self.skips = 0

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._bad = False

    def _say(self, verdict, test, detail=""):
        seconds = time.monotonic() - getattr(self, "_started", time.monotonic())
        print(f"{verdict:4} {seconds:6.1f}s  {name_of(test)}", flush=True)
        if detail:
            print("      " + own_frames(detail).replace("\n", "\n      "), flush=True)

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
    """A traceback without the frames that lie outside of these folders."""
    kept, keep = [], True
    for line in traceback.rstrip().splitlines():
        if line.startswith('  File "'):
            keep = any(str(folder) in line for folder in FOLDERS)
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


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--filter", default="", help="only tests whose name contains this")
    wanted = options.parse_args().filter.lower()
    tests = []
    for folder in FOLDERS:
        sys.path.insert(0, str(folder))
        tests += flatten(unittest.TestLoader().discover(str(folder), pattern="*_test.py"))
    chosen = unittest.TestSuite(t for t in tests if wanted in name_of(t).lower())
    result = OneLine()
    chosen.run(result)
    failed = len(result.failures) + len(result.errors)
    if result.skips:
        print(f"{result.skips} skipped")
    print(f"{result.passed} passed, {failed} failed")
    return 0 if failed == 0 and result.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
