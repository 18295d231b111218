"""What is logged can be changed while the server runs."""
import json
import unittest

import pymongo.errors

from support import Server


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
