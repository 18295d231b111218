"""Current drivers on a tour of the server: what applications do with them, step by step, from the first user on."""
import os
import subprocess
import unittest

from driver_packages import HERE, packages
from replica_set_support import Member
from support import BIN, SLOWNESS, Server


class Tour(unittest.TestCase):
    """Each driver is a program of its own (drivers/) that prints a line for every step."""

    def take_tour(self, least, command, server, **options):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=240 * SLOWNESS, **options)
        steps = [line for line in done.stdout.splitlines() if line.startswith(("ok ", "FAIL "))]
        failed = [line for line in steps if line.startswith("FAIL ")]
        self.assertFalse(failed, "\n".join(failed) + "\n" + server.log_tail(5))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreaterEqual(len(steps), least, f"the tour broke off:\n{done.stdout}{done.stderr}")
        self.assertEqual(server.stop(), 0, server.log_tail())
        print(f"      {len(steps)} steps", flush=True)

    def mongosh(self, least, uri, script, server, **variables):
        node, place = packages()
        environment = {**os.environ, **variables, "HOME": str(server.folder), "PATH": f"{node.parent}:{os.environ['PATH']}"}
        self.take_tour(least, [place / "node_modules/.bin/mongosh", "--quiet", "--norc", uri, HERE / "mongosh_steps.js", HERE / script], server, env=environment)


class Drivers(Tour):
    def setUp(self):
        self.server = Server("--auth")
        self.addCleanup(self.server.discard)
        self.server.start()

    def test_the_node_driver(self):
        node, place = packages()
        tour = place / "node_tour.mjs"
        tour.write_text((HERE / "node_tour.mjs").read_text())  # packages are looked for beside the program
        self.take_tour(14, [node, tour, self.server.port], self.server)

    def test_mongosh(self):
        self.mongosh(10, self.server.uri, "mongosh_tour.js", self.server)

    def test_libmongoc(self):
        program = BIN / "libmongoc_tour"
        self.assertTrue(program.exists(), f"{program} was not built: install libmongoc-dev and build again")
        self.take_tour(11, [program, self.server.port], self.server)


class ReplicaSet(Tour):
    def test_mongosh(self):
        """What administrators type, from the first config on: three members, and a fourth that is added later."""
        members = [Member().start() for _ in range(4)]
        for member in members:
            self.addCleanup(member.discard)
        names = ",".join(member.name for member in members)
        self.mongosh(10, members[0].uri, "mongosh_set_tour.js", members[3], TROUPE_MEMBERS=names)
        # After an error of role the driver knows nothing of the member until its next awaited hello is answered, which
        # takes this long when it was begun afterwards; mongosh waits for two seconds.
        self.mongosh(6, members[1].uri + "&heartbeatFrequencyMS=500", "mongosh_secondary_tour.js", members[2], TROUPE_MEMBERS=names)


if __name__ == "__main__":
    unittest.main()
