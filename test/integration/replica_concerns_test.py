"""What read concerns give and withhold on real members: committed data, the newest data, and data as of a time."""
import time
import unittest

import pymongo
import pymongo.errors
from bson import Int64, Timestamp
from pymongo import ReadPreference
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Background, Frozen, Set, client_of, cut, mend
from support import SLOWNESS, eventually

ALL = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))
ALONE = WriteConcern(w=1)


class Concerns(unittest.TestCase):
    """One set for all tests, with a database for each."""

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3)
        cls.group.initiate()

    def setUp(self):
        self.primary = self.group.settled(60)
        self.rest = self.group.others(self.primary)
        self.client = client_of(self.group)
        self.addCleanup(self.client.close)
        # What the last test has cut off is a secondary at first, and then rolls back what it wrote alone: it has a later write once that is over.
        self.client.settled.get_collection("items", write_concern=ALL).insert_one({})
        self.assertTrue(eventually(lambda: all(m.hello().get("secondary") for m in self.rest), 60), "they serve reads")
        self.items = self.client[self.id().rsplit(".", 1)[-1][:40]].get_collection("items", write_concern=MAJORITY)

    def on(self, member, level="local"):
        """The collection as one member gives it by itself."""
        client = member.client(readPreference="secondaryPreferred")
        self.addCleanup(client.close)
        return client[self.items.database.name].get_collection("items", read_concern=ReadConcern(level), write_concern=ALONE)

    def isolated(self):
        """The primary, which nobody hears any more; it has not noticed yet."""
        for other in self.rest:
            cut(self.primary, other)
            self.addCleanup(mend, self.primary, other)
        return self.primary

    def test_what_a_majority_has_not_is_seen_locally_alone(self):
        self.items.insert_one({"_id": 1})
        alone = self.isolated()
        newest, committed = self.on(alone), self.on(alone, "majority")
        newest.insert_one({"_id": 2})
        newest.update_one({"_id": 1}, {"$set": {"x": 1}})
        self.assertEqual(sorted(d["_id"] for d in newest.find()), [1, 2])
        self.assertEqual(list(committed.find()), [{"_id": 1}])
        self.doCleanups()

    def test_metadata_are_committed_like_data(self):
        self.items.insert_one({"_id": 1})
        alone = self.isolated()
        newest, committed = self.on(alone), self.on(alone, "majority")
        newest.create_index("x")
        newest.database.made.with_options(write_concern=ALONE).insert_one({"_id": 1})
        self.assertEqual(list(committed.database.made.with_options(read_concern=ReadConcern("majority")).find()), [])
        newest.drop()
        self.assertEqual(list(newest.find()), [])
        self.assertEqual(list(committed.find()), [{"_id": 1}], "the drop is not committed")
        self.doCleanups()

    def test_a_write_is_read_with_majority_once_a_majority_has_it(self):  # RDC-004
        self.items.insert_one({"_id": 1})
        newest, committed = self.on(self.primary), self.on(self.primary, "majority")
        with Frozen(self.rest[0]), Frozen(self.rest[1]):
            newest.insert_one({"_id": 2})
            self.assertEqual(newest.count_documents({}), 2)
            self.assertEqual(list(committed.find()), [{"_id": 1}], "the others have not applied it")
        self.assertTrue(eventually(lambda: committed.count_documents({}) == 2), "now they have")
        for other in self.rest:
            self.assertTrue(eventually(lambda m=other: self.on(m, "majority").count_documents({}) == 2), "they learn that it is committed")

    def test_the_log_shows_and_wakes_a_majority_reader_with_the_commit_point(self):
        self.items.insert_one({"_id": 1})
        newest, ns = self.on(self.primary), f"{self.items.database.name}.items"
        query = {"find": "oplog.rs", "filter": {"ns": ns, "op": "i"}, "batchSize": 1000}

        def read(level, **options):
            reply = self.primary.ask(query, db="local", readConcern={"level": level}, **options)
            return [e["o"]["_id"] for e in reply["cursor"]["firstBatch"]], reply["cursor"]["id"]

        _, tail = read("majority", tailable=True, awaitData=True)
        with Frozen(self.rest[0]), Frozen(self.rest[1]):
            waiting = Background(self.primary, {"getMore": Int64(tail)}, db="local", collection="oplog.rs", maxTimeMS=int(45_000 * SLOWNESS))
            newest.insert_one({"_id": 2})
            newest.insert_one({"_id": 3})
            self.assertEqual(read("local")[0], [1, 2, 3])
            self.assertEqual(read("majority")[0], [1])
            self.assertEqual(read("majority", sort={"$natural": -1})[0], [1])
            time.sleep(1)
            self.assertIsNone(waiting.reply, "nobody else has them")
        thawed = time.monotonic()
        found = waiting.join()
        self.assertLess(time.monotonic() - thawed, 5 * SLOWNESS, "it does not wait for the next write")
        self.assertEqual([e["o"]["_id"] for e in found["cursor"]["nextBatch"]][:1], [2])
        self.assertTrue(eventually(lambda: read("majority")[0] == [1, 2, 3]))

    def test_a_majority_read_waits_after_a_start_until_it_knows_what_is_committed(self):  # RDC-005
        self.items.with_options(write_concern=ALL).insert_many([{"_id": i} for i in range(10)])
        for member in self.group.members:
            member.kill()
        alone, *others = self.group.members
        alone.start()
        try:
            self.assertTrue(eventually(lambda: alone.hello().get("secondary"), 60), alone.log_tail())
            self.assertEqual(self.on(alone).count_documents({}), 10, "what it has is read locally")
            with self.assertRaises(pymongo.errors.ExecutionTimeout):
                self.on(alone, "majority").find_one({}, max_time_ms=1000)
            waiting = Background(alone, {"find": "items"}, db=self.items.database.name, readConcern={"level": "majority"},
                                 **{"$readPreference": {"mode": "secondaryPreferred"}})
        finally:
            for member in others:
                member.start()
        reply = waiting.join()
        self.assertEqual(len(reply.get("cursor", {}).get("firstBatch", [])), 10, reply)
        for member in others:
            self.assertTrue(eventually(lambda m=member: m.hello()["isWritablePrimary"] or m.hello().get("secondary"), 60))
            self.assertEqual(len(list(self.on(member, "majority").find({}, max_time_ms=int(30_000 * SLOWNESS)))), 10)

    def test_an_isolated_primary_does_not_answer_linearizable_reads(self):
        self.items.insert_one({"_id": 1})
        before = self.primary.metrics()["repl"]["lastWrite"]["opTime"]
        self.assertEqual(self.on(self.primary, "linearizable").find_one({"_id": 1}), {"_id": 1})
        self.assertNotEqual(self.primary.metrics()["repl"]["lastWrite"]["opTime"], before, "it leaves a note in the log")
        with self.assertRaises(pymongo.errors.AutoReconnect) as caught:
            self.on(self.rest[0], "linearizable").find_one({"_id": 1})
        self.assertEqual(caught.exception.details["code"], 10107)
        alone = self.isolated()
        begun = time.monotonic()
        waiting = Background(alone, {"find": "items"}, db=self.items.database.name, readConcern={"level": "linearizable"})
        with self.assertRaises(pymongo.errors.PyMongoError) as caught:
            self.on(alone, "linearizable").find_one({"_id": 1}, max_time_ms=300)
        self.assertIn(caught.exception.code, (50, 11602, 10107))
        self.assertLess(time.monotonic() - begun, 10 * SLOWNESS)
        self.assertIn(waiting.join().get("code"), (11602, 10107, 189), "a read without a limit waits until the primary steps down")
        self.doCleanups()

    def test_reads_at_one_time_stay_the_same_on_every_member_while_writes_go_on(self):
        self.items.insert_many([{"_id": i, "n": 0} for i in range(50)])
        reply = self.items.database.command("insert", "items", documents=[{"_id": 50, "n": 0}], writeConcern={"w": 3})
        at = reply["operationTime"]
        for _ in range(5):
            self.items.update_many({}, {"$inc": {"n": 1}})
            self.items.insert_one({})
            for member in self.group.members:
                found = self.on(member).database.command(
                    "find", "items", sort={"_id": 1},  # members number their records for themselves
                    readConcern={"level": "snapshot", "atClusterTime": at}, batchSize=1000,
                    read_preference=ReadPreference.SECONDARY_PREFERRED)["cursor"]["firstBatch"]
                self.assertEqual([(d["_id"], d["n"]) for d in found], [(i, 0) for i in range(51)])

    def test_a_read_before_the_kept_history_is_refused(self):
        self.items.insert_one({"_id": 1})
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            self.items.database.command("find", "items", readConcern={"level": "snapshot", "atClusterTime": Timestamp(1000, 1)})
        self.assertEqual(caught.exception.code, 239)

    def test_a_write_outlives_its_timeout(self):
        self.items.insert_one({"_id": 0})
        alone = self.isolated()
        with self.assertRaises(pymongo.errors.WTimeoutError) as caught:
            self.on(alone).with_options(write_concern=WriteConcern(w="majority", wtimeout=100)).insert_one({"_id": 1})
        self.assertEqual(caught.exception.code, 64)
        self.assertEqual(self.on(alone).count_documents({"_id": 1}), 1, "it is not undone")
        self.doCleanups()

    def test_a_read_of_a_secondary_is_asked_for(self):
        self.items.with_options(write_concern=ALL).insert_one({"_id": 1})
        reply = self.rest[0].ask({"find": "items"}, db=self.items.database.name)
        self.assertEqual((reply["code"], reply["codeName"]), (13435, "NotPrimaryNoSecondaryOk"))
        self.assertEqual(self.on(self.rest[0]).find_one(), {"_id": 1})

    def test_a_blocked_write_concern_blocks_nobody_else(self):
        self.items.insert_one({"_id": 0})
        self.items.database.dropped.insert_one({"_id": 0})
        other = self.on(self.primary)
        with Frozen(self.rest[0]):
            waiting = Background(self.primary, {"insert": "items"}, db=other.database.name, documents=[{"_id": "waits"}],
                                 writeConcern={"w": 3, "wtimeout": int(60_000 * SLOWNESS)})
            self.assertTrue(eventually(lambda: other.find_one({"_id": "waits"})), "it is written, and waits for the third member")
            for i in range(20):
                other.insert_one({"_id": f"quick {i}"})
            other.database.command("drop", "dropped", writeConcern={"w": 1})
            other.database.command("collMod", "items", validator={"x": 1}, validationAction="warn", writeConcern={"w": 1})
            self.assertIsNone(waiting.reply, "it waits still")
        reply = waiting.join()
        self.assertEqual((reply["n"], reply.get("writeConcernError")), (1, None), "the third member has it too")


class LogOfAMember(unittest.TestCase):
    def test_a_majority_reader_of_a_members_log_sees_nothing_that_is_not_committed(self):
        """The member without a vote fetches what nobody else has."""
        with Set(4, m3={"priority": 0, "votes": 0}) as group:
            group.config["settings"]["chainingAllowed"] = False  # a frozen member would have nothing for it
            group.initiate()
            primary, member = group.settled(60), group.members[3]
            voters = [m for m in group.others(primary) if m is not member]

            def read(level, **options):
                reply = member.ask({"find": "oplog.rs", "filter": {"ns": "app.items", "op": "i"}}, db="local",
                                   readConcern={"level": level}, **options)
                return [e["o"]["_id"] for e in reply["cursor"]["firstBatch"]]

            with client_of(group) as client, primary.client() as alone:
                client.app.get_collection("items", write_concern=WriteConcern(w=4)).insert_one({"_id": 1})
                self.assertTrue(eventually(lambda: read("majority") == [1]))
                with Frozen(voters[0]), Frozen(voters[1]):
                    alone.app.get_collection("items", write_concern=ALONE).insert_one({"_id": 2})
                    self.assertTrue(eventually(lambda: read("local") == [1, 2]), "it has fetched it")
                    self.assertEqual(read("majority"), [1])
                    self.assertEqual(read("majority", sort={"$natural": -1}), [1])
                self.assertTrue(eventually(lambda: read("majority", sort={"$natural": -1}) == [2, 1]))


if __name__ == "__main__":
    unittest.main()
