"""Everything at once: reads, writes, changes of shape, kills and the operator's doings, on the same few collections. What was
acknowledged adds up, indexes agree with collections, and no error is met but those that others' doings explain."""
import collections
import datetime
import os
import random
import threading
import time
import unittest
import urllib.error
import urllib.request

import pymongo

from support import SLOWNESS, Server, eventually

LANES = 8
SECONDS = float(os.environ.get("TROUPE_TEST_LOAD_SECONDS", "8"))
# Errors that come of the other clients' drops, renames, kills and index builds. Write conflicts (112) are not among them, since the
# server tries again, nor duplicate keys (11000), since no lane inserts a key of its own choice twice.
NAMESPACE_NOT_FOUND, INDEX_NOT_FOUND, CURSOR_NOT_FOUND, NAMESPACE_EXISTS = 26, 27, 43, 48
QUERY_PLAN_KILLED, CURSOR_KILLED, INDEX_BUILD_ABORTED, INTERRUPTED = 175, 237, 276, 11601
EXPLAINED = {NAMESPACE_NOT_FOUND, INDEX_NOT_FOUND, CURSOR_NOT_FOUND, NAMESPACE_EXISTS, QUERY_PLAN_KILLED, CURSOR_KILLED, INDEX_BUILD_ABORTED,
             INTERRUPTED}
# What replaces whole collections, or stops everything for a moment, is done five times less often.
RARE = {"do_create", "do_drop", "do_rename", "do_restart_an_actor", "do_sync"}
RESTARTABLE = ("storage/journal-flusher", "storage/checkpointer", "storage/ident-reaper", "storage/disk-watch", "workers/worker0", "services/idle-sweeper", "services/index-builds",
               "services/ttl-monitor", "services/scrubber", "services/profile-keeper")


class Lane:
    """One client with its own chances; counts what it was told of."""

    def __init__(self, server, number, goes_on):
        self.server = server
        self.random = random.Random(number)
        self.number = number
        self.goes_on = goes_on
        self.added = collections.Counter()
        self.met = collections.Counter()
        self.done = collections.Counter()
        self.surprise = None

    def run(self):
        works = [getattr(self, name) for name in sorted(WORKS) for _ in range(1 if name in RARE else 5)]
        try:
            with self.server.client(retryWrites=False, retryReads=False, w=1) as client:
                self.client, self.db = client, client.load
                while self.goes_on():
                    work = self.random.choice(works)
                    try:
                        work()
                        self.done[work.__name__] += 1
                    except pymongo.errors.OperationFailure as e:
                        code = e.details["writeErrors"][0]["code"] if isinstance(e, pymongo.errors.BulkWriteError) else e.code
                        self.met[code] += 1
                        if code not in EXPLAINED:
                            raise AssertionError(f"{work.__name__} met {e.details}") from e
        except BaseException as e:
            self.surprise = e

    def shape(self):
        """A collection whose shape changes all the time."""
        return self.db[f"shape{self.random.randrange(3)}"]

    def do_add(self):
        key = self.random.randrange(4)
        by = self.random.randrange(1, 5)
        self.db.sums.update_one({"_id": key}, {"$inc": {"sum": by}, "$push": {"last": {"$each": [self.number], "$slice": -5}}}, upsert=True)
        self.added[key] += by

    def do_add_by_find_and_modify(self):
        key = self.random.randrange(4)
        before = self.db.sums.find_one_and_update({"_id": key}, [{"$set": {"sum": {"$add": [{"$ifNull": ["$sum", 0]}, 1]}}}], upsert=True)
        self.added[key] += 1
        assert before is None or before["sum"] >= self.added[key] - 1, (before, self.added)

    def do_insert(self):
        self.shape().insert_many([{"a": i % 7, "b": self.random.random(), "t": ["x" * self.random.randrange(300), i]} for i in range(self.random.choice((1, 5, 60)))])

    def do_update_many(self):
        self.shape().update_many({"a": self.random.randrange(7)}, {"$inc": {"n": 1}, "$set": {"b": self.random.random()}})

    def do_delete(self):
        self.shape().delete_many({"a": self.random.randrange(7), "b": {"$lt": 0.5}})

    def do_find(self):
        for document in self.shape().find({"a": {"$gte": self.random.randrange(7)}}, batch_size=10).sort("b", 1).limit(50):
            assert "a" in document

    def do_walk(self):
        for _ in self.shape().find({}, batch_size=5).limit(40):
            pass

    def do_aggregate(self):
        list(self.shape().aggregate([{"$match": {"a": {"$lt": 5}}}, {"$group": {"_id": "$a", "n": {"$sum": 1}, "b": {"$avg": "$b"}}},
                                     {"$lookup": {"from": "sums", "localField": "_id", "foreignField": "_id", "as": "sums"}}, {"$sort": {"_id": 1}}]))

    def do_count_and_distinct(self):
        self.shape().count_documents({"a": 3})
        self.shape().distinct("a", {"b": {"$gt": 0.3}})

    def do_index(self):
        keys = self.random.choice(("a", "b", "t", [("a", 1), ("b", -1)]))
        self.shape().create_index(keys)

    def do_drop_indexes(self):
        self.shape().drop_indexes()

    def do_drop(self):
        self.shape().drop()

    def do_rename(self):
        source, target = self.random.sample(range(4), 2)
        self.db[f"shape{source}"].rename(f"shape{target}", dropTarget=True)

    def do_create(self):
        collection = self.shape()
        collection.drop()
        self.db.command("create", collection.name)

    def do_expire(self):
        now, hour = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(hours=1)
        self.db.expiring.insert_many([{"at": now - hour, "old": True}, {"at": now + hour}, {"at": [now + hour, now - hour], "old": True}, {"at": "never"}])
        self.added["kept"] += 2

    def do_validate(self):
        self.check(self.random.choice((self.shape().name, "expiring")))

    def check(self, name):
        result = self.db.validate_collection(name)
        assert result["valid"], result

    def do_listings(self):
        self.client.list_database_names()
        for name in self.db.list_collection_names():
            self.db[name].index_information()
        self.db.command("collStats", "sums")
        self.db.command("dbStats")

    def do_explain(self):
        self.db.command("explain", {"find": "sums", "filter": {"_id": 1}}, verbosity="executionStats")

    def do_look_around(self):
        self.client.admin.command("serverStatus")
        self.client.admin.command("actorTree", cursor={"batchSize": 20})
        self.client.admin.command("currentOp")
        self.client.admin.command("connectionStatus")
        self.client.admin.command("getLog", "global")

    def do_journaled(self):
        self.db.get_collection("journaled", write_concern=pymongo.WriteConcern(w=1, j=True)).insert_one({"lane": self.number})
        self.added["journaled"] += 1

    def do_sync(self):
        self.client.admin.command("fsync")

    def do_kill_someone(self):
        # Its own kind only: what is killed must not be an addition, whose outcome would be unknown.
        for op in self.client.admin.command("currentOp")["inprog"]:
            if op.get("op") == "query" and "shape" in op.get("ns", ""):
                self.client.admin.command("killOp", op=op["opid"])
                return

    def do_leave_a_cursor(self):
        first = self.db.command("find", f"shape{self.random.randrange(3)}", batchSize=1)["cursor"]
        if first["id"] and self.random.random() < 0.5:
            self.db.command("killCursors", "sums", cursors=[first["id"]])

    def do_use_a_session(self):
        with self.client.start_session() as session:
            next(self.shape().find({}, batch_size=2, session=session), None)

    def do_change_parameters(self):
        self.client.admin.command("setParameter", 1, slowOpThresholdMs=self.random.choice((20, 100, 500)))

    def do_users(self):
        name = f"user{self.number}"
        self.db.command("createUser", name, pwd="p", roles=["read"], mechanisms=["SCRAM-SHA-256"])
        self.db.command("grantRolesToUser", name, roles=["readWrite"])
        self.db.command("dropUser", name)

    def do_connect(self):
        with self.server.raw() as raw:
            assert raw.command({"hello": 1, "$db": "admin"})["ok"] == 1
            if self.random.random() < 0.5:
                raw.send(b"\x30\0\0")  # gone in the middle of a frame

    def admin(self, path, method="GET", action=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.admin_port}{path}", method=method, headers={"X-Troupe-Action": action} if action else {})
        try:
            with urllib.request.urlopen(request, timeout=30 * SLOWNESS) as answer:
                return answer.read()
        except urllib.error.HTTPError as e:
            if e.code not in (404, 409, 503, 504):  # gone, not in a state for it, or its supervisor did not answer in time
                raise

    def do_watch(self):
        for path in ("/metrics", "/actors?tree=1", "/actors/node/storage/journal-flusher", "/healthz"):
            self.admin(path)

    def do_restart_an_actor(self):
        self.admin(f"/actors/node/{self.random.choice(RESTARTABLE)}/restart", "POST", "restart")


WORKS = {name for name in dir(Lane) if name.startswith("do_")}


class Load(unittest.TestCase):
    ALONE = "takes all of the machine"

    def test_many_clients_do_everything_at_once(self):
        # All lanes ask the admin endpoint from one address, as fast as they can: its rate would refuse some of them on a fast machine.
        server = Server("--setParameter", "ttlMonitorSleepSecs=1", "--setParameter", "adminRequestsPerSecondPerAddress=0")
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            client.load.expiring.create_index("at", expireAfterSeconds=0)
        begun = time.monotonic()

        def unfinished():
            return {name for name in WORKS if not any(lane.done[name] for lane in lanes)}

        def goes_on():
            """For the time that was asked for, and then until each work has succeeded once, as slow as the machine may be."""
            lasted = time.monotonic() - begun
            return not any(lane.surprise for lane in lanes) and (lasted < SECONDS * min(SLOWNESS, 3) or (lasted < SECONDS + 120 * SLOWNESS and unfinished()))

        lanes = [Lane(server, n, goes_on) for n in range(LANES)]
        threads = [threading.Thread(target=lane.run) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(server.running(), server.log_tail())
        for lane in lanes:
            if lane.surprise:
                raise lane.surprise
        done = sum((lane.done for lane in lanes), collections.Counter())
        print(f"      {sum(done.values())} operations, refused: {dict(sum((lane.met for lane in lanes), collections.Counter()))}", flush=True)
        self.assertEqual(unfinished(), set(), "never succeeded")
        self.check(server, sum((lane.added for lane in lanes), collections.Counter()))
        self.assertEqual(server.restart().running(), True)
        self.check(server, sum((lane.added for lane in lanes), collections.Counter()))
        self.assertEqual(server.stop(), 0)

    def check(self, server, added):
        with server.client() as client:
            self.assertTrue(eventually(lambda: client.load.expiring.count_documents({"old": True}) == 0), "not all that has expired was removed")
            counted = {"journaled": client.load.journaled.count_documents({}), "kept": client.load.expiring.count_documents({})}
            self.assertEqual({d["_id"]: d["sum"] for d in client.load.sums.find()} | counted, dict(added))
            for name in client.load.list_collection_names():
                result = client.load.validate_collection(name, full=True)
                self.assertTrue(result["valid"], result)
