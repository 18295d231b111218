"""Runs the tests of this folder and of test/security (or of other folders) and prints one line for each. Their classes run side by side in as many
worker processes (worker.py) as there are cores, for most wait for processes and clocks. Those that wait for clocks nearly all of
their time have a worker of their own beside them: they say for what by an attribute WAITS. Then those run, one at a time, that
measure time or memory, or take all of the machine: they say why by an attribute ALONE.

A few tests that failed are run again, alone. One that passes then is unsteady: a defect of its own, which the summary shows with what it
said, but no reason to take the whole run for failed, for a busy machine may be the cause. What failed is shown once more at the end.

usage: runner.py [--filter TEXT] [--jobs N] [FOLDER...]    only tests whose name contains the text; N workers
"""
import argparse
import collections
import os
import select
import subprocess
import sys
import threading

from worker import COUNTS, END, HERE, find_classes, matching

FOLDERS = (HERE, HERE.parent / "security")
# They begin first, so that none is left at the end that all others wait for: half a minute and more each.
LONGEST = ("damaged_files_test.DamagedFiles", "crash_test.Crash", "replica_set_test.Elections", "extension_test.Extension",
           "repair_test.Repair", "replica_votes_test.Asking", "drivers_test.Drivers", "replica_step_down_test.Asked", "links_test.Links",
           "limits_test.Limits")


# More than these are no accident; under a sanitizer none is: what passes the second time is most likely a race.
MOST_UNSTEADY = 2 if os.environ.get("TROUPE_TEST_SLOWNESS", "1") == "1" else 0


class Worker:
    """A process that runs one class after the other."""

    def __init__(self, share, wanted, folders):
        """`share`: its number, and of how many, of what workers must not share (support.py)."""
        command = [sys.executable, "-B", str(HERE / "worker.py"), wanted, *folders]
        self._process = subprocess.Popen(command, env={**os.environ, "TROUPE_TEST_WORKER": share}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT)

    def run(self, name, show):
        """Runs a class and shows what it prints, test by test. Returns (passed, failed, skipped), or None: the process has ended."""
        try:
            self._process.stdin.write(f"{name}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        for text in self._texts():
            if text.startswith(COUNTS):
                return tuple(int(count) for count in text[1:].split())
            show(text)
        return None

    def _texts(self):
        rest, output = b"", self._process.stdout.fileno()
        while True:
            # A process that it started may hold its output open for longer than it lives.
            ready, _, _ = select.select([output], [], [], 1)
            part = os.read(output, 1 << 16) if ready else b""
            if not part and (ready or self._process.poll() is not None):
                if rest.strip():
                    yield rest.decode(errors="replace")
                return
            *whole, rest = (rest + part).split(END.encode())
            yield from (each.decode(errors="replace") for each in whole)

    def end(self):
        """Lets it end; returns its exit code."""
        self._process.stdin.close()
        return self._process.wait()


class Run:
    """The classes to run, and what came of those that have run."""

    def __init__(self, wanted, jobs, folders):
        self._wanted, self._workers, self._folders = wanted, jobs + 1, folders
        self._lock = threading.Lock()
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.failures = []  # what was printed of each

    def _show(self, text):
        with self._lock:
            print(text.rstrip("\n"), flush=True)
            if text.startswith("FAIL"):
                self.failures.append(text.rstrip("\n"))

    def _count(self, passed, failed, skipped):
        with self._lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped

    def _lane(self, number, names):
        """Takes classes until none is left. One in which the worker ends has failed, and another worker goes on."""
        worker = None
        while names:
            try:
                name = names.popleft()
            except IndexError:
                break
            worker = worker or Worker(f"{number}/{self._workers}", self._wanted, self._folders)
            counts = worker.run(name, self._show)
            if counts is None:
                self._show(f"FAIL         {name}\n      its process ended with {worker.end()}")
                worker = None
            self._count(*(counts or (0, 1, 0)))
        if worker:
            worker.end()

    def run(self, names, jobs, waiting=()):
        """Runs these classes, so many at once, and those that wait one after the other beside them."""
        names, waiting = collections.deque(names), collections.deque(waiting)
        lanes = [threading.Thread(target=self._lane, args=(number, names), daemon=True) for number in range(min(jobs, len(names)))]
        lanes.append(threading.Thread(target=self._lane, args=(jobs, waiting), daemon=True))
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()


def run_again(failure, folders):
    """Runs the failed test alone. Returns whether it passed."""
    name = failure.splitlines()[0].split()[-1]
    again = Run(name, 1, folders)
    again.run(sorted(matching(find_classes(folders), name)), 1)
    return again.failed == 0 and again.passed > 0


def judge(run, folders):
    """What failed, once more; the unsteady among them no longer count as failed. Returns how many have failed."""
    if not run.failures:
        return run.failed
    failed, unsteady = run.failed, []
    if len(run.failures) == run.failed <= MOST_UNSTEADY:
        print("once more, alone:")
        unsteady = [failure for failure in run.failures if run_again(failure, folders)]
    print("\n".join(["what failed:", *run.failures]))
    for failure in unsteady:
        print(f"unsteady, passed when it ran alone: {failure.splitlines()[0].split()[-1]}")
    return failed - len(unsteady)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", default="", help="only tests whose name contains this")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how many classes run at once")
    parser.add_argument("folders", nargs="*", help="where the tests are")
    options = parser.parse_args()
    folders = options.folders or [str(folder) for folder in FOLDERS]
    classes = find_classes(folders)
    unknown = set(LONGEST) - set(classes)
    if unknown and not options.folders:
        sys.exit(f"LONGEST names classes that are not there: {', '.join(unknown)}")
    classes = matching(classes, options.filter)
    alone = [name for name, tests in classes.items() if hasattr(tests[0], "ALONE")]
    waiting = [name for name, tests in classes.items() if hasattr(tests[0], "WAITS")]
    together = sorted((name for name in classes if name not in alone and name not in waiting),
                      key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    run = Run(options.filter, options.jobs, folders)
    run.run(together, options.jobs, waiting)
    run.run(alone, 1)
    failed = judge(run, folders)
    if run.skipped:
        print(f"{run.skipped} skipped")
    passed = run.passed + run.failed - failed
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
