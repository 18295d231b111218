"""The runner itself: classes side by side or alone, and what becomes of the rest when a worker dies."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SLOWNESS

RUNNER = Path(__file__).resolve().parent / "runner.py"
TESTS = '''
import os, pathlib, time, unittest

HERE = pathlib.Path(__file__).parent


def meet(name, others):
    """Waits until the others are there as well."""
    (HERE / name).touch()
    while not all((HERE / other).exists() for other in others):
        time.sleep(0.01)


class One(unittest.TestCase):
    def test_meets_two(self):
        meet("one", ["two"])
        print("      said by one")


class Two(unittest.TestCase):
    def test_meets_one(self):
        meet("two", ["one"])

    def test_fails(self):
        self.fail("as it has to")


class Dies(unittest.TestCase):
    def test_and_takes_its_process_along(self):
        os._exit(3)


class Measures(unittest.TestCase):
    ALONE = "looks at all others"

    def test_is_the_last(self):
        self.assertTrue((HERE / "late").exists())


class Patient(unittest.TestCase):
    WAITS = "for another one"

    def test_waits_for_what_runs_beside_it(self):
        end = time.monotonic() + 20
        while not (HERE / "late").exists() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue((HERE / "late").exists())


class ZLate(unittest.TestCase):
    @unittest.skip("for a reason")
    def test_skipped(self):
        pass

    def test_is_run_by_another_worker(self):
        (HERE / "late").touch()
'''


UNSTEADY = '''
import pathlib, unittest

class Once(unittest.TestCase):
    def test_passes_the_second_time(self):
        mark = pathlib.Path(__file__).parent / "mark"
        was_there = mark.exists()
        mark.touch()
        self.assertTrue(was_there, "the first time")
'''


class Runner(unittest.TestCase):
    def run_on(self, tests, *arguments):
        """(exit code, output) of the runner on a file with these tests."""
        with tempfile.TemporaryDirectory(prefix="troupe-runner-") as folder:
            (Path(folder) / "sample_test.py").write_text(tests)
            done = subprocess.run([sys.executable, "-B", str(RUNNER), *arguments, folder], capture_output=True, text=True, timeout=60 * SLOWNESS)
            return done.returncode, done.stdout

    def test_a_dead_worker_is_a_failure_and_the_others_go_on(self):
        code, said = self.run_on(TESTS, "--jobs", "2")
        self.assertEqual(code, 1)
        self.assertEqual(said.splitlines()[-2:], ["1 skipped", "5 passed, 2 failed"])
        self.assertRegex(said, r"(?m)^      said by one\nok  +\S+s  sample_test.One.test_meets_two$")
        self.assertRegex(said, r"(?m)^FAIL +\S+s  sample_test.Two.test_fails\n(      .*\n)*      AssertionError: as it has to$")
        self.assertRegex(said, r"(?m)^FAIL +sample_test.Dies\n      its process ended with 3$")
        self.assertRegex(said, r"ok  +\S+s  sample_test.Measures.test_is_the_last\n")

    @unittest.skipIf(SLOWNESS != 1, "a slow build's failures are not tried again")
    def test_what_passes_alone_is_unsteady_and_shown(self):
        code, said = self.run_on(UNSTEADY)
        self.assertEqual((code, said.splitlines()[-1]), (0, "1 passed, 0 failed"))
        self.assertRegex(said, r"(?m)^what failed:\nFAIL .*test_passes_the_second_time\n(      .*\n)*      AssertionError: .*the first time$")
        self.assertRegex(said, r"(?m)^unsteady, passed when it ran alone: sample_test.Once.test_passes_the_second_time$")

    def test_what_fails_again_has_failed(self):
        code, said = self.run_on(UNSTEADY.replace("mark.touch()", "pass"))
        self.assertEqual((code, said.splitlines()[-1]), (1, "0 passed, 1 failed"))
        self.assertNotIn("unsteady", said)

    def test_the_filter_chooses_by_name(self):
        code, said = self.run_on(TESTS, "--filter", "ANOTHER_worker")
        self.assertEqual((code, said.splitlines()[1:]), (0, ["1 passed, 0 failed"]))
        self.assertEqual(self.run_on(TESTS, "--filter", "nothing like this"), (1, "0 passed, 0 failed\n"))

    def test_a_file_that_cannot_be_read_is_a_failure(self):
        code, said = self.run_on("import what_is_not_there")
        self.assertEqual(code, 1)
        self.assertIn("what_is_not_there", said)
        self.assertEqual(said.splitlines()[-1], "0 passed, 1 failed")


if __name__ == "__main__":
    unittest.main()
