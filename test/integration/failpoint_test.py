"""Failing on purpose, for drivers' specifications and our own tests."""
import time

import pymongo

from support import Server, ServerTest


class FailPoints(ServerTest):
    def configure(self, name, mode, **data):
        self.addCleanup(self.client.admin.command, "configureFailPoint", name, mode="off")
        return self.client.admin.command("configureFailPoint", name, mode=mode, data=data)

    def test_fail_command_with_a_code(self):
        self.configure("failCommand", {"times": 2}, failCommands=["find"], errorCode=96)
        for _ in range(2):
            self.assertFails(96, self.db.command, "find", "c")
        self.assertEqual(self.db.command("find", "c")["ok"], 1)

    def test_labels_and_information(self):
        self.configure("failCommand", {"times": 1}, failCommands=["insert"], errorCode=91, errorLabels=["RetryableWriteError", "Mine"])
        with self.server.raw() as raw:
            reply = raw.command({"insert": "c", "documents": [{}], "$db": self.db.name})
        self.assertEqual((reply["ok"], reply["code"], reply["errorLabels"]), (0.0, 91, ["RetryableWriteError", "Mine"]))

    def test_closing_the_connection(self):
        self.configure("failCommand", {"times": 1}, failCommands=["find"], closeConnection=True)
        with self.server.raw() as raw:
            self.assertIsNone(raw.command({"find": "c", "$db": self.db.name}))
        self.assertEqual(self.db.command("find", "c")["ok"], 1)

    def test_write_concern_errors(self):
        self.configure("failCommand", {"times": 1}, failCommands=["insert"], writeConcernError={"code": 91, "errmsg": "down", "errorLabels": ["L"]})
        with self.server.raw() as raw:
            reply = raw.command({"insert": "c", "documents": [{"_id": 1}], "$db": self.db.name})
        self.assertEqual((reply["ok"], reply["n"], reply["writeConcernError"]["code"]), (1.0, 1, 91))
        self.assertEqual(self.db.c.count_documents({}), 1)

    def test_blocking(self):
        self.configure("failCommand", {"times": 1}, failCommands=["ping"], blockConnection=True, blockTimeMS=300)
        before = time.monotonic()
        with self.server.raw() as raw:
            raw.command({"ping": 1, "$db": "admin"})
        self.assertGreaterEqual(time.monotonic() - before, 0.29)

    def test_skip_and_application_name(self):
        self.configure("failCommand", {"skip": 1}, failCommands=["find"], errorCode=2, appName="other")
        for _ in range(3):
            self.db.command("find", "c")
        with self.server.client(appname="other") as other:
            other[self.db.name].command("find", "c")
            self.assertFails(2, other[self.db.name].command, "find", "c")

    def test_get_more(self):
        self.db.c.insert_many({"_id": i} for i in range(300))
        cursor = self.db.command("find", "c", batchSize=2)["cursor"]["id"]
        self.configure("failGetMoreAfterCursorCheckout", {"times": 1}, errorCode=6)
        self.assertFails(6, self.db.command, "getMore", cursor, collection="c")

    def test_unknown_names_and_modes(self):
        for name, mode in (("noSuchPoint", "off"), ("failCommand", "sometimes"), ("failCommand", {"times": -1}), ("failCommand", 5)):
            with self.subTest(name=name, mode=mode), self.assertRaises(pymongo.errors.OperationFailure):
                self.client.admin.command("configureFailPoint", name, mode=mode)

    def test_they_need_test_commands(self):
        with Server(test_commands=False) as server, server.client() as client:
            self.assertFails(59, client.admin.command, "configureFailPoint", "failCommand", mode="off")
