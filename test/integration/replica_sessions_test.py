"""Drivers at their defaults on a replica set: writes that are sent again are done once."""
import threading
import unittest

import bson
import pymongo
import pymongo.errors

from replica_set_support import Set
from support import SLOWNESS, eventually

FAILOVERS = 4


def uri(group):
    return f"mongodb://{','.join(m.name for m in group.members)}/?replicaSet=rs&serverSelectionTimeoutMS={int(60_000 * SLOWNESS)}"


class Counting(threading.Thread):
    """Adds one to a counter, time and again, each time with another kind of write, and remembers what the driver has acknowledged."""

    def __init__(self, group, name):
        super().__init__(daemon=True)
        self.group, self.name_of_counter = group, name
        self.done, self.failures, self.ending, self.values = 0, [], threading.Event(), []

    def run(self):
        with pymongo.MongoClient(uri(self.group)) as client:
            counters, notes = client.app.counters, client.app.notes
            while not self.ending.is_set():
                try:
                    if self.done % 2:
                        counters.update_one({"_id": self.name_of_counter}, {"$inc": {"n": 1}}, upsert=True)
                    else:
                        after = counters.find_one_and_update({"_id": self.name_of_counter}, {"$inc": {"n": 1}}, upsert=True,
                                                             return_document=pymongo.ReturnDocument.AFTER)
                        self.values.append((self.done + 1, after["n"]))
                    self.done += 1
                    notes.insert_many([{"_id": f"{self.name_of_counter}-{self.done}-{i}"} for i in range(3)])
                except pymongo.errors.PyMongoError as failure:
                    self.failures.append(repr(failure))
                    return


class Defaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3)
        cls.group.members[0].command("replSetInitiate", cls.group.config)
        cls.group.primary()
        cls.group.have_data()

    def setUp(self):
        self.primary = self.group.settled(60)

    def test_a_driver_needs_no_setting(self):
        with pymongo.MongoClient(uri(self.group)) as client:
            items = client.app.items
            items.insert_one({"_id": 1, "n": 0})
            self.assertEqual(items.update_one({"_id": 1}, {"$inc": {"n": 1}}).modified_count, 1)
            self.assertEqual(items.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}})["n"], 1)
            self.assertEqual(items.bulk_write([pymongo.InsertOne({"_id": 2}), pymongo.DeleteOne({"_id": 1})]).deleted_count, 1)
            self.assertEqual([d["_id"] for d in items.find()], [2])
            self.assertGreater(client.config.transactions.count_documents({}), 0)

    def test_every_member_keeps_what_a_retry_needs(self):
        with pymongo.MongoClient(uri(self.group), w=3) as client:
            client.app.images.insert_one({"_id": 1})
            client.app.images.find_one_and_update({"_id": 1}, {"$set": {"a": 1}})

        def kept(member):
            with member.client(readPreference="secondaryPreferred") as client:
                records = sorted((str(d["_id"]["id"]), d["txnNum"], d["lastWriteOpTime"]["ts"].time, d["lastWriteOpTime"]["ts"].inc)
                                 for d in client.config.transactions.find())
                # Those of a member that was killed before its first stable checkpoint are no answers: its documents may have been later ones.
                images = {(str(d["_id"]["id"]), d["ts"].time, d["ts"].inc): None if d["invalidated"] else str(d["image"])
                          for d in client.config.image_collection.find()}
                return records, images

        def agree(kept, expected):
            images = [(kept[1][key], expected[1][key]) for key in expected[1].keys() & kept[1].keys()]
            return (kept[0] == expected[0] and kept[1].keys() == expected[1].keys()
                    and all(one == other for one, other in images if one and other))

        expected = kept(self.primary)
        self.assertIn("{'_id': 1}", expected[1].values())
        for member in self.group.others(self.primary):
            self.assertTrue(eventually(lambda m=member: agree(kept(m), expected)), (kept(member), expected))
            self.assertIn("{'_id': 1}", kept(member)[1].values())

    def test_a_retry_after_a_failover_is_answered_alike(self):
        self.fail_over_between_two_attempts("retried")

    def test_a_retry_after_a_failover_is_answered_from_the_log(self):
        def keep_aside(aside):
            for member in self.group.members:
                member.command("setParameter", 1, storeFindAndModifyImagesInSideCollection=aside)

        keep_aside(False)
        try:
            self.fail_over_between_two_attempts("logged")
        finally:
            self.group.settled(60)
            keep_aside(True)
        entries = self.primary_entries({"ns": "app.logged", "postImageOpTime": {"$exists": True}})
        self.assertEqual(len(entries), 1, "the first was an upsert")
        self.assertFalse(any("needsRetryImage" in entry for entry in entries))

    def primary_entries(self, wanted):
        with self.group.primary(60).client() as client:
            return list(client.local["oplog.rs"].find(wanted))

    def fail_over_between_two_attempts(self, collection):
        command = {"findAndModify": collection, "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "upsert": True, "new": True,
                   "writeConcern": {"w": "majority"}}
        with pymongo.MongoClient(uri(self.group)) as client, client.start_session() as session:
            lsid = dict(session.session_id)
            for number in (1, 2):
                numbered = {**command, "lsid": lsid, "txnNumber": bson.Int64(number)}
                first = self.primary.ask(numbered, db="app")
                self.assertEqual(first["ok"], 1, first)
            self.primary.kill()
            try:
                again = self.group.primary(60).ask(numbered, db="app")
                self.assertEqual(again["value"], first["value"])
                self.assertEqual(again["retriedStmtId"], 0)
            finally:
                self.primary.start()

    def test_counters_are_exact_after_failovers(self):
        writers = [Counting(self.group, name) for name in ("a", "b", "c")]
        for writer in writers:
            writer.start()
        for _ in range(FAILOVERS):
            before = [w.done for w in writers]
            primary = self.group.primary(60)
            primary.kill()
            self.assertTrue(eventually(lambda b=before: all(w.done > d + 3 or w.failures for w, d in zip(writers, b)), 60 * SLOWNESS))
            primary.start()
            self.group.settled(60)
        for writer in writers:
            writer.ending.set()
        for writer in writers:
            writer.join(60 * SLOWNESS)
        self.assertEqual([w.failures for w in writers], [[], [], []])
        with pymongo.MongoClient(uri(self.group)) as client:
            for writer in writers:
                self.assertEqual(client.app.counters.find_one({"_id": writer.name_of_counter})["n"], writer.done)
                self.assertEqual([v for v in writer.values if v[0] != v[1]], [], "each was told its own value")
                self.assertEqual(client.app.notes.count_documents({"_id": {"$regex": f"^{writer.name_of_counter}-"}}), 3 * writer.done)


if __name__ == "__main__":
    unittest.main()
