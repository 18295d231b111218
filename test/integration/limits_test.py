"""The promised limits, from both sides."""
import struct
import threading
import time

import bson
import bson.json_util
import pymongo
from bson import Int64
from bson.raw_bson import RawBSONDocument

from support import SLOWNESS, Server, ServerTest, eventually, frame, header, op_msg_payload, OP_MSG

MAX_DOCUMENT = 16 * 1024 * 1024


def document_of(size, **fields):
    """Raw BSON of exactly `size` bytes."""
    empty = len(bson.encode({**fields, "x": ""}))
    return bson.encode({**fields, "x": "x" * (size - empty)})


def nested(depth, kind=b"\3"):
    """A document that nests to this depth, itself counted."""
    document = b"\5\0\0\0\0"
    for _ in range(depth - 1):
        document = struct.pack("<i", len(document) + 8) + kind + b"a\0" + document + b"\0"
    return document


class Limits(ServerTest):
    def insert_raw(self, *documents, collection="c"):
        with self.server.raw(60) as raw:
            return raw.command({"insert": collection, "$db": self.db.name}, sequences=[("documents", list(documents))])

    def test_documents_of_16_mebibytes_and_no_more(self):
        self.assertEqual(self.insert_raw(document_of(MAX_DOCUMENT, _id=1)), {"n": 1, "ok": 1.0})
        for found in (self.db.c.find_one({"_id": 1}), next(self.db.c.aggregate([{"$match": {}}]))):
            self.assertEqual(len(bson.encode(found)), MAX_DOCUMENT)
        reply = self.insert_raw(document_of(MAX_DOCUMENT + 1, _id=2))
        code = reply["code"] if reply and reply["ok"] == 0 else reply["writeErrors"][0]["code"]
        self.assertIn(code, (10334, 2, 17280))
        self.assertEqual(self.db.c.count_documents({}), 1)

    def test_updates_may_not_exceed_it(self):
        self.insert_raw(document_of(MAX_DOCUMENT - 100, _id=1))
        error = self.assertFails(17419, self.db.c.update_one, {"_id": 1}, {"$set": {"y": "y" * 200}})
        self.assertIn("16", str(error))
        self.db.c.update_one({"_id": 1}, {"$set": {"x": "small"}})

    def test_several_of_them_come_in_as_many_batches(self):
        for i in range(4):
            self.insert_raw(document_of(MAX_DOCUMENT, _id=i))
        self.assertEqual([d["_id"] for d in self.db.c.find()], [0, 1, 2, 3])

    def test_messages_of_48_megabytes_and_no_more(self):
        room = 48_000_000 - 16 - len(op_msg_payload({"insert": "c", "$db": self.db.name}, sequences=[("documents", [])]))
        with self.server.raw(60) as raw:
            documents = [document_of(15_000_000, _id=i) for i in range(3)]
            documents.append(document_of(room - 45_000_000, _id=3))
            message = frame(op_msg_payload({"insert": "c", "$db": self.db.name}, sequences=[("documents", documents)]))
            self.assertEqual(len(message), 48_000_000)
            raw.send(message)
            self.assertEqual(raw.reply().body["n"], 4)
            raw.send(header(48_000_001, 1, 0, OP_MSG))
            self.assertTrue(raw.closed())

    def test_100000_writes_a_batch_and_no_more(self):
        documents = [bson.encode({"_id": i}) for i in range(100_001)]
        self.assertEqual(self.insert_raw(*documents[:100_000])["n"], 100_000)
        self.assertEqual(self.insert_raw(*documents, collection="d")["code"], 16)
        self.assertEqual(self.insert_raw(collection="d")["code"], 16)
        deletes = [bson.encode({"q": {"_id": i}, "limit": 1}) for i in range(100_000)]
        with self.server.raw(120) as raw:
            self.assertEqual(raw.command({"delete": "c", "$db": self.db.name}, sequences=[("deletes", deletes)])["n"], 100_000)

    def test_nesting(self):
        self.assertEqual(self.insert_raw(nested(100))["n"], 1)
        self.assertEqual(self.insert_raw(nested(180))["n"], 1)
        self.assertEqual(self.insert_raw(nested(170, b"\4"))["n"], 1)
        for depth in (202, 250, 1000):
            reply = self.insert_raw(nested(depth))
            self.assertTrue(reply is None or reply["ok"] == 0 or reply.get("writeErrors"), reply)
        self.assertTrue(self.db.validate_collection("c", full=True)["valid"])
        self.assertEqual(len(list(self.db.c.find({}, {"a.a.a": 1}))), 3)

    def test_max_time(self):
        self.db.c.insert_many({"_id": i, "a": i} for i in range(20_000))
        # Some 20 s for all documents, of which none matches: no batch fills up before.
        expensive = {"$expr": {"$lt": [{"$sum": {"$map": {"input": {"$range": [0, 2000]}, "in": {"$multiply": ["$$this", "$a"]}}}}, -1]}}
        for work in (lambda: list(self.db.c.find(expensive).max_time_ms(20)), lambda: list(self.db.c.aggregate([{"$match": expensive}], maxTimeMS=20)),
                     lambda: self.db.command("count", "c", query=expensive, maxTimeMS=20), lambda: self.db.command("distinct", "c", key="a", query=expensive, maxTimeMS=20),
                     lambda: self.db.command("update", "c", updates=[{"q": expensive, "u": {"$set": {"b": 1}}, "multi": True}], maxTimeMS=20)):
            before = time.monotonic()
            self.assertFails(50, work)
            self.assertLess(time.monotonic() - before, 3 * SLOWNESS)
        self.assertEqual(self.db.c.find({"_id": 5}).max_time_ms(int(20_000 * SLOWNESS))[0]["_id"], 5)
        self.assertFails(2, self.db.command, "find", "c", maxTimeMS=-1)

    def test_killing_a_running_operation(self):
        import threading
        self.db.c.insert_many({"_id": i, "a": i} for i in range(20_000))
        expensive = {"$expr": {"$gt": [{"$sum": {"$map": {"input": {"$range": [0, 20_000]}, "in": {"$multiply": ["$$this", "$a"]}}}}, -1]}}
        outcome = []

        def work():
            try:
                outcome.append(self.db.command("count", "c", query=expensive, comment="kill me"))
            except pymongo.errors.OperationFailure as e:
                outcome.append(e.code)

        thread = threading.Thread(target=work)
        thread.start()
        running = []
        self.assertTrue(eventually(lambda: running.extend(self.client.admin.command("currentOp", **{"command.comment": "kill me"})["inprog"]) or running))
        self.client.admin.command("killOp", op=running[0]["opid"])
        thread.join(60 * SLOWNESS)
        self.assertEqual(outcome, [11601])

    def test_idle_cursors_end(self):
        self.db.c.insert_many({"_id": i} for i in range(500))
        self.client.admin.command("setParameter", 1, cursorTimeoutMillis=100)
        self.addCleanup(self.client.admin.command, "setParameter", 1, cursorTimeoutMillis=600_000)
        ends = self.db.command("find", "c", batchSize=2)["cursor"]["id"]
        stays = self.db.command("find", "c", batchSize=2, noCursorTimeout=True)["cursor"]["id"]
        self.assertTrue(eventually(lambda: self.client.admin.command("serverStatus")["metrics"]["cursor"]["open"]["total"] <= 1))
        self.assertFails(43, self.db.command, "getMore", ends, collection="c")
        self.assertEqual(len(self.db.command("getMore", stays, collection="c", batchSize=5)["cursor"]["nextBatch"]), 5)

    def test_slow_operations_are_logged_once_they_are_slow(self):
        self.client.admin.command("setParameter", 1, slowOpThresholdMs=0)
        self.db.c.insert_one({"_id": 1})
        self.db.c.find_one({"_id": 1}, comment="look for this")
        self.client.admin.command("setParameter", 1, slowOpThresholdMs=100)
        lines = [bson.json_util.loads(line) for line in self.server.log().splitlines() if "Slow query" in line and "look for this" in line]
        self.assertEqual(len(lines), 1)
        self.assertEqual(set(lines[0]), {"t", "s", "c", "id", "ctx", "msg", "attr"})
        self.assertEqual(lines[0]["attr"]["ns"], f"{self.db.name}.c")


class Connections(ServerTest):
    OPTIONS = ("--maxConns", "20")

    def test_connections_beyond_the_limit_are_closed(self):
        raws = [self.server.raw() for _ in range(40)]
        answers = []
        for raw in raws:
            try:
                answers.append(raw.command({"ping": 1, "$db": "admin"}) is not None)
            except ConnectionError:
                answers.append(False)
        for raw in raws:
            raw.close()
        self.assertLessEqual(sum(answers), 20)
        self.assertGreaterEqual(sum(answers), 10)
        self.assertTrue(eventually(self.has_room), "no room although the others have gone")

    def has_room(self):
        with self.server.raw() as raw:
            try:
                return raw.command({"ping": 1, "$db": "admin"}) is not None
            except ConnectionError:
                return False


class ManyConnections(ServerTest):
    ALONE = "measures memory"

    def test_a_thousand_idle_connections_are_cheap(self):
        before = self.server.memory_mib()
        raws = [self.server.raw() for _ in range(1000)]
        for raw in raws:
            raw.command({"hello": 1, "$db": "admin"})
        if SLOWNESS == 1:
            self.assertLess((self.server.memory_mib() - before) * 1024 / 1000, 64, "KiB per idle connection")
        self.assertEqual(raws[500].command({"ping": 1, "$db": "admin"})["ok"], 1)
        for raw in raws:
            raw.close()


class ExpensiveQueries(ServerTest):
    """One thread serves everybody: a query whose every row takes milliseconds must give way between them."""

    ALONE = "measures how long others wait"
    OPTIONS = ("--threads", "1")
    COSTLY = {"$expr": {"$lt": [{"$size": {"$filter": {"input": {"$range": [0, int(20_000 / SLOWNESS)]}, "cond": {"$gt": ["$$this", 1]}}}}, 0]}}

    def setUp(self):
        super().setUp()
        self.db.c.insert_many({"_id": i, "x": i % 3} for i in range(600))

    def costly(self):
        return {"find": self.db.c.find(self.COSTLY), "group": self.db.c.aggregate([{"$match": self.COSTLY}, {"$group": {"_id": "$x"}}], batchSize=0),
                "join": self.db.c.aggregate([{"$limit": 1}, {"$lookup": {"from": "c", "pipeline": [{"$match": self.COSTLY}], "as": "found"}}], batchSize=0)}

    def test_others_are_answered_meanwhile(self):
        for name, cursor in self.costly().items():
            with self.subTest(name):
                reader = threading.Thread(target=lambda: list(cursor))
                waits = []
                with self.server.client() as other:
                    other.admin.command("ping")
                    reader.start()
                    while reader.is_alive():
                        begun = time.monotonic()
                        other.admin.command("ping")
                        waits.append(time.monotonic() - begun)
                self.assertGreater(len(waits), 10, "the query was not expensive")
                self.assertLess(sorted(waits)[len(waits) // 2], 0.5 * SLOWNESS, "seconds until a ping is answered")

    def test_a_time_limit_is_noticed_long_before_the_query_is_done(self):
        self.db.c.insert_many({"_id": i, "x": i % 3} for i in range(600, 4000))  # some 20 s
        items = {"$filter": {"input": {"$range": [0, int(40_000 / SLOWNESS)]}, "cond": {"$gt": ["$$this", 1]}}}
        for work in (lambda: list(self.db.c.find(self.COSTLY).max_time_ms(1000)),
                     lambda: list(self.db.c.aggregate([{"$group": {"_id": {"$size": items}}}], maxTimeMS=1000)),
                     lambda: list(self.db.c.aggregate([{"$limit": 1}, {"$lookup": {"from": "c", "pipeline": [{"$match": self.COSTLY}], "as": "found"}}],
                                                      maxTimeMS=1000))):
            begun = time.monotonic()
            self.assertFails(50, work)
            self.assertLess(time.monotonic() - begun, 3 * SLOWNESS)
