"""Current drivers on a tour of the server: what applications do with them, step by step, from the first user on."""
import os
import subprocess
import unittest
from pathlib import Path

from support import BIN, SLOWNESS, Server

HERE = Path(__file__).resolve().parent / "drivers"


class Drivers(unittest.TestCase):
    """Each driver is a program of its own (drivers/) that prints a line for every step."""

    def setUp(self):
        self.server = Server("--auth")
        self.addCleanup(self.server.discard)
        self.server.start()

    def take_tour(self, least, command, **options):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=240 * SLOWNESS, **options)
        steps = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "FAIL "))]
        failed = [line for line in steps if line.startswith("FAIL ")]
        self.assertFalse(failed, "\n".join(failed) + "\n" + self.server.log_tail(5))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(len(steps), least, f"the tour broke off:\n{done.stdout}{done.stderr}")
        self.assertEqual(self.server.stop(), 0, self.server.log_tail())
        print(f"      {len(steps)} steps", flush=True)

    def packages(self):
        """Node.js and the folder in which the packages of drivers/package.json are installed."""
        installed = subprocess.run([str(HERE / "install.sh")], capture_output=True, text=True, timeout=600)
        self.assertEqual(installed.returncode, 0, "the drivers' packages are not there:\n" + installed.stderr)
        node, place = installed.stdout.splitlines()[-2:]
        return Path(node), Path(place)

    def test_the_node_driver(self):
        node, place = self.packages()
        tour = place / "node_tour.mjs"
        tour.write_text((HERE / "node_tour.mjs").read_text())  # packages are looked for beside the program
        self.take_tour(14, [node, tour, self.server.port])

    def test_mongosh(self):
        node, place = self.packages()
        environment = {**os.environ, "HOME": str(self.server.folder), "PATH": f"{node.parent}:{os.environ['PATH']}"}
        self.take_tour(10, [place / "node_modules/.bin/mongosh", "--quiet", "--norc", self.server.uri, HERE / "mongosh_tour.js"], env=environment)

    def test_libmongoc(self):
        program = BIN / "libmongoc_tour"
        self.assertTrue(program.exists(), f"{program} was not built: install libmongoc-dev and build again")
        self.take_tour(11, [program, self.server.port])


if __name__ == "__main__":
    unittest.main()
