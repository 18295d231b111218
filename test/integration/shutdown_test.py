"""Stopping in order: SIGTERM drains, closes cleanly and loses nothing."""
import signal
import threading
import time
import unittest

import pymongo

from support import SLOWNESS, Server, EXHAUST_ALLOWED, eventually, frame, op_msg_payload


INTERRUPTED_AT_SHUTDOWN, SHUTDOWN_IN_PROGRESS = 11600, 91


def is_of_shutdown(error):
    """Whether a client may see that error because the server stops. That no server was found in time is not among them."""
    if isinstance(error, pymongo.errors.ServerSelectionTimeoutError):
        return False
    return isinstance(error, pymongo.errors.ConnectionFailure) or getattr(error, "code", None) in (INTERRUPTED_AT_SHUTDOWN, SHUTDOWN_IN_PROGRESS)


class Shutdown(unittest.TestCase):
    WAITS = "for the patience of a shutdown"

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.discard)
        self.server.start()

    def await_operations(self, count, **filter):
        with self.server.client() as client:
            self.assertTrue(eventually(lambda: len(client.admin.command("currentOp", **filter)["inprog"]) == count), "they do not run")

    def test_a_restart_finds_everything(self):
        with self.server.client() as client:
            client.t.c.insert_many({"_id": i, "a": i} for i in range(1000))
            client.t.c.create_index("a")
            self.server.restart()
            self.assertEqual(client.t.c.count_documents({"a": {"$gte": 500}}), 500)
            self.assertTrue(client.t.validate_collection("c", full=True)["valid"])
        self.assertIn("Now exiting", self.server.log())

    def test_the_exit_code_is_zero_for_both_signals_and_the_command(self):
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.server.process.send_signal(signal.SIGINT)
        self.assertEqual(self.server.process.wait(30 * SLOWNESS), 0)
        self.server.start()
        with self.server.client() as client:
            with self.assertRaises(pymongo.errors.AutoReconnect):
                client.admin.command("shutdown")
        self.assertEqual(self.server.process.wait(30 * SLOWNESS), 0)

    def test_a_process_whose_closing_hangs_ends_nevertheless(self):
        server = self.server
        with server.client() as client:
            client.t.get_collection("c", write_concern=pymongo.WriteConcern(j=True)).insert_one({"_id": 1})
            client.admin.command("configureFailPoint", "hangWhileClosing", mode="alwaysOn")
        started = time.monotonic()
        self.assertEqual(server.stop(), 100)
        self.assertGreater(time.monotonic() - started, 8)
        self.assertIn("closing has made no progress", server.log())
        server.start()
        with server.client() as client:
            self.assertEqual(client.t.c.find_one(), {"_id": 1})
        self.assertEqual(server.stop(), 0)

    def test_a_process_that_hangs_after_a_failure_of_its_engine_ends_nevertheless(self):
        server = self.server
        with server.client() as client:
            client.t.c.insert_many({"_id": i, "text": "x" * 500} for i in range(5000))
            table = server.dbpath / (next(client.t.c.aggregate([{"$listCatalog": {}}]))["ident"] + ".wt")
        self.assertEqual(server.stop(), 0)
        good = table.read_bytes()
        middle = len(good) // 2
        table.write_bytes(good[:middle] + b"X" * 4096 + good[middle + 4096:])
        server.start()
        with server.client(retryReads=False) as client:
            client.admin.command("configureFailPoint", "hangAfterEngineFailure", mode="alwaysOn")
            started = time.monotonic()
            with self.assertRaises(pymongo.errors.AutoReconnect):
                list(client.t.c.find())
        self.assertEqual(server.process.wait(30 * SLOWNESS), 100)
        self.assertGreater(time.monotonic() - started, 8)
        self.assertRegex(server.log(), r"the storage engine has failed.*, and the process went on")

    def test_a_process_whose_actors_hang_ends_nevertheless(self):
        server = Server("--threads", "1")  # it keeps the only one; a stand-in serves the others
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            client.t.get_collection("c", write_concern=pymongo.WriteConcern(j=True)).insert_one({"_id": 1})
            client.admin.command("configureFailPoint", "hangWhileStopping", mode="alwaysOn")
        self.assertEqual(server.stop(60), 100)
        self.assertIn("Some actors did not stop in time", server.log())
        self.assertIn("closing has made no progress", server.log(), "its thread cannot be joined")
        server.start()
        with server.client() as client:
            self.assertEqual(client.t.c.find_one(), {"_id": 1})
        self.assertEqual(server.stop(), 0)

    def test_a_stop_takes_a_checkpoint(self):
        server = Server("--nojournal")
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            client.t.get_collection("c", write_concern=pymongo.WriteConcern(j=False)).insert_many({"_id": i} for i in range(100))
        server.restart()
        with server.client() as client:
            self.assertEqual(client.t.c.count_documents({}), 100)
            self.assertTrue(client.t.validate_collection("c", full=True)["valid"])
        self.assertEqual(server.stop(), 0)

    def test_a_waiting_hello_hears_of_it(self):
        with self.server.raw() as waiting, self.server.raw() as streaming:
            known = waiting.command({"hello": 1, "$db": "admin"})["topologyVersion"]
            hello = {"hello": 1, "topologyVersion": known, "maxAwaitTimeMS": 60_000, "$db": "admin"}
            waiting.send(frame(op_msg_payload(hello)))
            streaming.send(frame(op_msg_payload(hello, EXHAUST_ALLOWED)))
            self.await_operations(2, **{"command.maxAwaitTimeMS": 60_000})
            started = time.monotonic()
            self.assertEqual(self.server.stop(), 0)
            self.assertLess(time.monotonic() - started, 10 * SLOWNESS)
            for raw in (waiting, streaming):
                reply = raw.reply()
                self.assertIsNotNone(reply)
                self.assertEqual((reply.body["ok"], reply.body["code"]), (0.0, 91))
                self.assertGreater(reply.body["topologyVersion"]["counter"], known["counter"])
                self.assertTrue(raw.closed())

    def test_idle_connections_and_open_cursors_do_not_hold_it_up(self):
        raws = [self.server.raw() for _ in range(50)]
        with self.server.client() as client:
            client.t.c.insert_many({"_id": i} for i in range(1000))
            cursor = client.t.c.find({}, batch_size=2)
            next(cursor)
            started = time.monotonic()
            self.assertEqual(self.server.stop(), 0)
            self.assertLess(time.monotonic() - started, 10 * SLOWNESS)
        for raw in raws:
            raw.close()

    def test_under_load_nothing_acknowledged_is_lost(self):
        acknowledged, errors, over = [], [], threading.Event()

        def work(lane):
            with self.server.client(retryWrites=False) as client:
                for i in range(1_000_000):
                    if over.is_set():
                        return
                    key = f"{lane}-{i}"
                    try:
                        client.t.c.insert_one({"_id": key})
                    except Exception as e:
                        errors.append(e)
                        return
                    acknowledged.append(key)

        threads = [threading.Thread(target=work, args=(lane,)) for lane in range(6)]
        for t in threads:
            t.start()
        many = eventually(lambda: len(acknowledged) > 2000)
        code = self.server.stop()
        over.set()
        self.server.start()  # lanes that look for a server, having lost it between two writes, find this one and end
        for t in threads:
            t.join()
        self.assertEqual(code, 0)
        self.assertTrue(many, f"only {len(acknowledged)} writes; {errors}")
        self.assertEqual([e for e in errors if not is_of_shutdown(e)], [])
        with self.server.client() as client:
            found = {d["_id"] for d in client.t.c.find()}
            self.assertEqual(set(acknowledged) - found, set())
            self.assertTrue(client.t.validate_collection("c", full=True)["valid"])

    def test_a_long_operation_is_ended(self):
        with self.server.client() as client:
            client.t.c.insert_many({"_id": i} for i in range(5000))
        count = {"count": "c", "$db": "t", "comment": "long",
                 "query": {"$expr": {"$gt": [{"$sum": {"$map": {"input": {"$range": [0, 100_000]}, "in": "$$this"}}}, -1]}}}
        with self.server.raw(60) as raw:
            raw.send(frame(op_msg_payload(count)))
            self.await_operations(1, **{"command.comment": "long"})
            self.assertEqual(self.server.stop(), 0)
            reply = raw.reply()
        self.assertIsNotNone(reply, "the connection ended without an answer")
        self.assertEqual((reply.body["ok"], reply.body["code"]), (0, INTERRUPTED_AT_SHUTDOWN), reply.body)
