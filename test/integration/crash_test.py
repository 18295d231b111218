"""SIGKILL under load, again and again: what was acknowledged as journaled is there, and indexes agree with collections."""
import os
import random
import threading
import time
import unittest

import pymongo

from support import SLOWNESS, Server, ServerTest, eventually

KILLS = int(os.environ.get("TROUPE_TEST_KILLS", "50"))
LANES = 4
ROUNDS_OF_A_FILL = 10  # then the collections are emptied, so that the looks at them stay short
JOURNALED = pymongo.WriteConcern(w=1, j=True)


class Lane:
    """One client's writes, all with j: true. Keeps what each of its documents must be; a document whose last write was not
    acknowledged may be as before or as after it."""

    def __init__(self, server, number):
        self.server = server
        self.number = number
        self.random = random.Random(number)
        self.certain = {}   # _id -> value
        self.open = {}      # _id -> value it may have instead (None: deleted), from the write that was interrupted
        self.next = 0
        self.acknowledged = 0
        self.error = None   # any failure but the loss of the server

    def run(self):
        client = self.server.client(retryWrites=False, serverSelectionTimeoutMS=int(2000 * SLOWNESS), connectTimeoutMS=int(2000 * SLOWNESS), socketTimeoutMS=int(20_000 * SLOWNESS))
        with client:
            collection = client.crash.get_collection(f"lane{self.number % 2}", write_concern=JOURNALED)
            try:
                while True:
                    self.step(collection)
            except pymongo.errors.ConnectionFailure:
                return
            except Exception as e:
                self.error = e

    def step(self, collection):
        what = self.random.random()
        if what < 0.5 or len(self.certain) < 5:
            keys = [f"{self.number}-{self.next + i}" for i in range(self.random.choice((1, 1, 1, 20)))]
            self.next += len(keys)
            self.write({k: 0 for k in keys}, lambda: collection.insert_many([self.document(k, 0) for k in keys]))
        elif what < 0.85:
            key = self.pick()
            value = self.certain[key] + 1
            self.write({key: value}, lambda: collection.update_one({"_id": key}, {"$set": self.document(key, value)}))
        else:
            key = self.pick()
            self.write({key: None}, lambda: collection.delete_one({"_id": key}))

    def document(self, key, value):
        return {"_id": key, "lane": self.number, "value": value, "tags": [value % 7, "x" * (value % 50)], "unique": f"{key}/{value}"}

    def pick(self):
        return self.random.choice(list(self.certain)) if len(self.certain) < 50 else f"{self.choose_recent()}"

    def choose_recent(self):
        keys = list(self.certain)
        return keys[-self.random.randrange(1, 50)]

    def write(self, outcome, work):
        self.open = outcome
        work()
        for key, value in outcome.items():
            self.settle(key, value)
        self.open = {}
        self.acknowledged += 1

    def settle(self, key, value):
        if value is None:
            self.certain.pop(key, None)
        else:
            self.certain[key] = value

    def problems(self, found):
        """Compares with what the server has, and takes over how the interrupted write ended."""
        for key, value in self.open.items():
            if found.get(key) not in (value, self.certain.get(key)):
                yield f"{key} is {found.get(key)}, neither {self.certain.get(key)} nor {value}"
            self.settle(key, found.get(key))
        self.open = {}
        for key, value in self.certain.items():
            if found.get(key) != value:
                yield f"{key} is {found.get(key)}, acknowledged as {value}"
        for key in found.keys() - self.certain.keys():
            yield f"{key} was never written, or deleted"


class Crash(unittest.TestCase):
    def test_kills_lose_nothing_that_was_acknowledged_as_journaled(self):
        chance = random.Random(42)
        server = Server()
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            for name in ("lane0", "lane1"):
                client.crash[name].create_index("tags")
                client.crash[name].create_index("unique", unique=True)
                client.crash[name].create_index([("lane", 1), ("value", -1)])
        lanes = [Lane(server, n) for n in range(LANES)]
        for round in range(KILLS):
            threads = [threading.Thread(target=lane.run) for lane in lanes]
            noise = threading.Thread(target=self.change_shape, args=(server, round))
            for t in (*threads, noise):
                t.start()
            time.sleep(chance.uniform(0.1, 0.9) * SLOWNESS)
            server.kill()
            for t in (*threads, noise):
                t.join()
            server.start()
            self.check(server, lanes, round)
            if round % ROUNDS_OF_A_FILL == ROUNDS_OF_A_FILL - 1:
                self.empty(server, lanes)
        acknowledged = sum(lane.acknowledged for lane in lanes)
        print(f"      {KILLS} kills, {acknowledged} acknowledged writes", flush=True)
        self.assertGreater(acknowledged, KILLS * 10)
        self.assertEqual(server.stop(), 0)

    def test_without_a_journal_what_was_acknowledged_as_journaled_is_there(self):
        server = Server("--nojournal")
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            client.crash.get_collection("c", write_concern=JOURNALED).insert_one({"_id": 1})
        server.kill()
        server.start()
        with server.client() as client:
            self.assertEqual(list(client.crash.c.find()), [{"_id": 1}])
        self.assertEqual(server.stop(), 0)

    def test_a_kill_in_the_middle_of_an_out_leaves_its_target_and_nothing_else(self):
        server = Server()
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            db = client.crash
            db.c.insert_many({"_id": i} for i in range(1000))
            db.t.insert_one({"_id": "old"})
            db.create_collection("mine")  # of a client, whatever its name
            client.admin.command("configureFailPoint", "hangOutBeforeReplacing", mode="alwaysOn")
            out = threading.Thread(target=self.write_out, args=(server,))
            out.start()
            temporary = lambda: [n for n in db.list_collection_names() if n.startswith("tmp.agg_out.")]
            self.assertTrue(eventually(lambda: temporary() and db[temporary()[0]].estimated_document_count() == 1000))
            db.get_collection("mine", write_concern=JOURNALED).insert_one({"_id": 1})
            server.kill()
            out.join()
        server.start()
        with server.client() as client:
            self.assertEqual(sorted(client.crash.list_collection_names()), ["c", "mine", "t"])
            self.assertEqual(list(client.crash.t.find()), [{"_id": "old"}])
            self.assertIn("Removed a temporary collection", server.log_tail(200))
        self.assertEqual(server.stop(), 0)

    def write_out(self, server):
        with server.client(retryReads=False) as client:
            try:
                client.crash.c.aggregate([{"$out": "t"}])
            except pymongo.errors.PyMongoError:
                pass

    def change_shape(self, server, round):
        """Collections and indexes come and go meanwhile, so that kills meet changes of the catalog as well."""
        with server.client(retryWrites=False, serverSelectionTimeoutMS=int(2000 * SLOWNESS), connectTimeoutMS=int(2000 * SLOWNESS), socketTimeoutMS=int(20_000 * SLOWNESS)) as client:
            try:
                for i in range(1000):
                    collection = client.shape[f"c{i % 3}"]
                    collection.insert_many([{"a": j % 5, "b": j} for j in range(20)])
                    collection.create_index([("a", 1), ("b", 1)])
                    client.crash.lane0.create_index([("value", 1)])
                    collection.drop_index("a_1_b_1")
                    client.crash.lane0.drop_index("value_1")
                    if i % 2:
                        collection.drop()
            except pymongo.errors.ConnectionFailure:
                return
            except Exception as e:
                self.shape_error = e

    def empty(self, server, lanes):
        with server.client() as client:
            for name in ("lane0", "lane1"):
                client.crash.get_collection(name, write_concern=JOURNALED).delete_many({})
        for lane in lanes:
            lane.certain.clear()

    def check(self, server, lanes, round):
        self.assertIsNone(getattr(self, "shape_error", None))
        self.assertEqual([lane.error for lane in lanes if lane.error], [], f"round {round}")
        with server.client() as client:
            for number in range(2):
                name = f"lane{number}"
                result = client.crash.validate_collection(name, full=True)
                self.assertTrue(result["valid"], f"round {round}: {result}")
                self.assertEqual(result["warnings"], [], f"round {round}")
                found = {}
                for d in client.crash[name].find():
                    self.assertEqual(d["unique"], f"{d['_id']}/{d['value']}")
                    found.setdefault(d["lane"], {})[d["_id"]] = d["value"]
                for lane in lanes[number::2]:
                    problems = list(lane.problems(found.get(lane.number, {})))
                    self.assertEqual(problems[:10], [], f"round {round}: {len(problems)} problems")
            for name in client.shape.list_collection_names():
                result = client.shape.validate_collection(name, full=True)
                self.assertTrue(result["valid"], f"round {round}: {result}")
                if "a_1_b_1" in client.shape[name].index_information():
                    self.assertEqual(sum(1 for _ in client.shape[name].find().hint("a_1_b_1")), client.shape[name].count_documents({}))


class CappedCollections(unittest.TestCase):
    def test_a_kill_leaves_them_as_large_as_they_may_be(self):
        """The sizes on the disk are a checkpoint old; an insert removes documents by sizes."""
        with Server() as server:
            with server.client() as client:
                capped = client.crash.create_collection("capped", capped=True, size=1_000_000, max=100, write_concern=JOURNALED)
                capped.insert_many([{"_id": i} for i in range(100)])
                client.admin.command("fsync")  # the sizes are those of a full collection from now on
                client.crash.drop_collection("capped")
                capped = client.crash.create_collection("capped", capped=True, size=1_000_000, max=100, write_concern=JOURNALED)
                capped.insert_many([{"_id": i} for i in range(90)])
            for expected in range(91, 140, 16):
                server.kill()
                server.start()
                with server.client() as client:
                    capped = client.crash.get_collection("capped", write_concern=JOURNALED)
                    held = capped.estimated_document_count()
                    self.assertEqual(held, len(list(capped.find())))
                    capped.insert_many([{"_id": i} for i in range(expected - 1, expected + 15)])
                    self.assertEqual([d["_id"] for d in capped.find()], list(range(max(0, expected + 15 - 100), expected + 15)))


class JournaledWrites(ServerTest):
    """What a SIGKILL leaves would be there without a sync, too: only the counter tells that the disk has it."""

    def syncs(self):
        return self.client.admin.command("serverStatus")["wiredTiger"]["log"]["log sync operations"]

    def test_each_lone_one_syncs_the_log(self):
        collection = self.db.get_collection("c", write_concern=JOURNALED)
        collection.insert_one({"_id": 0})
        for i in range(1, 21):
            before = self.syncs()
            collection.insert_one({"_id": i})
            self.assertGreater(self.syncs(), before)
