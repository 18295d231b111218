"""What is logged, and where to, can be changed while the server runs."""
import json
import pathlib
import shutil
import signal
import tempfile
import unittest

import pymongo.errors

from support import Server, eventually


class Verbosity(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.server.start()
        self.addCleanup(self.server.discard)
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.marks = 0

    def set(self, **parameters):
        return self.client.admin.command({"setParameter": 1, **parameters})

    def logged_operation(self):
        """Whether a quick operation leaves a line."""
        self.marks += 1
        mark = f"mark{self.marks}"
        self.client.test[mark].find_one()
        lines = [json.loads(line) for line in self.client.admin.command("getLog", "global")["log"]]
        return [line for line in lines if line["id"] == 51801 and line["attr"].get("ns") == f"test.{mark}"]

    def test_log_level_takes_effect_at_once(self):
        self.assertEqual(self.logged_operation(), [])
        self.assertEqual(self.set(logLevel=1)["was"], 0)
        line = self.logged_operation()[0]
        self.assertEqual((line["s"], line["c"]), ("D1", "COMMAND"))
        self.assertEqual(self.set(logLevel=0)["was"], 1)
        self.assertEqual(self.logged_operation(), [])

    def test_components_have_levels_of_their_own(self):
        self.set(logComponentVerbosity={"command": {"verbosity": 1}})
        self.assertEqual(len(self.logged_operation()), 1)
        levels = self.client.admin.command({"getParameter": 1, "logComponentVerbosity": 1})["logComponentVerbosity"]
        self.assertEqual((levels["verbosity"], levels["command"]["verbosity"], levels["network"]["verbosity"]), (0, 1, -1))
        self.set(logLevel=2, logComponentVerbosity={"command": {"verbosity": 0}})
        self.assertEqual(self.logged_operation(), [])
        with self.assertRaisesRegex(pymongo.errors.OperationFailure, "no component nobody"):
            self.set(logComponentVerbosity={"nobody": {"verbosity": 1}})


class Rotation(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "trouped.log"
        self.server = Server("--logpath", str(self.file))
        self.server.start()
        self.addCleanup(self.server.discard)
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def old_files(self):
        return sorted(self.folder.glob("trouped.log.*"))

    def ids(self, file):
        whole = file.read_text().split("\n")[:-1]  # the last line may be on its way
        return [json.loads(line)["id"] for line in whole]

    def test_the_command_begins_a_new_file(self):
        before = self.file.read_text()
        self.client.admin.command("logRotate")
        self.assertEqual(len(self.old_files()), 1)
        self.assertTrue(self.old_files()[0].read_text().startswith(before))
        self.assertIn(23166, self.ids(self.file))
        self.assertFalse(set(before.splitlines()) & set(self.file.read_text().splitlines()))
        with self.server.client() as another:
            another.admin.command("ping")
        self.assertTrue(eventually(lambda: 22943 in self.ids(self.file)), "a new connection has no line")

    def test_the_signal_begins_a_new_file(self):
        self.server.process.send_signal(signal.SIGUSR1)
        self.assertTrue(eventually(lambda: len(self.old_files()) == 1 and self.file.exists() and 23166 in self.ids(self.file)))
        self.assertEqual(self.client.admin.command("ping")["ok"], 1)
        self.file.rename(self.folder / "moved")  # as logrotate does
        self.server.process.send_signal(signal.SIGUSR1)
        self.assertTrue(eventually(lambda: self.file.exists() and 23166 in self.ids(self.file)))
        self.assertEqual(len(self.old_files()), 1)

    def test_standard_output_is_not_rotated(self):
        with Server() as server, server.client() as client:
            with self.assertRaisesRegex(pymongo.errors.OperationFailure, "--logpath"):
                client.admin.command("logRotate")
            server.process.send_signal(signal.SIGUSR1)
            self.assertTrue(eventually(lambda: any("was not rotated" in line for line in client.admin.command("getLog", "global")["log"])))
