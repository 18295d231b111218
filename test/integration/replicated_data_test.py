"""Replica sets of real processes that carry data: writes reach all members, and outlive the primary."""
import threading
import unittest

import pymongo
import pymongo.errors
from pymongo import ReadPreference
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Set, client_of, documents_of
from support import SLOWNESS, eventually


def indexes_of(member, name="items"):
    with member.client() as client:
        found = client.get_database("app", read_preference=ReadPreference.SECONDARY_PREFERRED)[name]
        return found.index_information()


class ReplicatedData(unittest.TestCase):
    def assert_same_everywhere(self, group, name="items"):
        reference = documents_of(group.primary(), name)
        for member in group.members:
            self.assertTrue(eventually(lambda m=member: documents_of(m, name) == reference), member.log_tail(40))
        return reference

    def test_writes_of_every_kind_reach_all_members(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = client.app.get_collection("items", write_concern=MAJORITY)
                items.insert_many([{"_id": i, "n": i, "text": "x" * 100} for i in range(500)])
                items.update_many({"n": {"$lt": 100}}, {"$inc": {"n": 1000}, "$push": {"log": "changed"}})
                items.delete_many({"n": {"$gte": 400, "$lt": 500}})
                items.create_index("n")
                items.create_index([("text", 1), ("n", -1)], name="both")
                items.find_one_and_replace({"_id": 250}, {"replaced": True})
                client.app.create_collection("capped", capped=True, size=4096, max=5)
                client.app.get_collection("capped", write_concern=MAJORITY).insert_many([{"_id": i} for i in range(9)])
                client.app.command("collMod", "items", validator={"n": {"$ne": "bad"}})
                client.app.old.insert_one({"_id": 1})
                client.app.old.rename("new")
                client.gone.items.insert_one({"_id": 1})
                client.drop_database("gone")
                items.insert_one({"_id": "last"})
            found = self.assert_same_everywhere(group)
            self.assertEqual(len(found), 401)
            self.assertEqual([d["_id"] for d in self.assert_same_everywhere(group, "capped")], [4, 5, 6, 7, 8])
            self.assert_same_everywhere(group, "new")
            for member in group.members:
                self.assertEqual(sorted(indexes_of(member)), ["_id_", "both", "n_1"])
                with member.client() as own:
                    self.assertNotIn("gone", own.list_database_names())
                    self.assertEqual(own.app.command("validate", "items", full=True)["valid"], True)

    def test_acknowledged_writes_outlive_primaries(self):
        """A counter and inserts of several clients, while one primary after the other is killed."""
        with Set() as group:
            group.initiate()
            acknowledged, stop = [], threading.Event()

            def work(worker):
                with client_of(group) as client:
                    items = client.app.get_collection("items", write_concern=MAJORITY)
                    n = 0
                    while not stop.is_set():
                        try:
                            items.insert_one({"_id": f"{worker}-{n}"})
                            acknowledged.append(f"{worker}-{n}")
                        except pymongo.errors.DuplicateKeyError:
                            acknowledged.append(f"{worker}-{n}")  # a retry found what the first attempt had written
                        except pymongo.errors.PyMongoError:
                            continue
                        n += 1
            workers = [threading.Thread(target=work, args=(w,)) for w in range(3)]
            for worker in workers:
                worker.start()
            try:
                for _ in range(3):
                    before = len(acknowledged)
                    self.assertTrue(eventually(lambda: len(acknowledged) > before + 50, 60), "no progress")
                    primary = group.primary(60)
                    primary.kill()
                    group.primary(60)
                    primary.start()
            finally:
                stop.set()
                for worker in workers:
                    worker.join()
            group.settled(60)
            found = {d["_id"] for d in self.assert_same_everywhere(group)}
            self.assertEqual([w for w in acknowledged if w not in found], [])

    def test_all_killed_at_once_lose_nothing_acknowledged(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = client.app.get_collection("items", write_concern=MAJORITY)
                for i in range(100):
                    items.insert_one({"_id": i})
            for member in group.members:
                member.kill()
            for member in group.members:
                member.start()
            group.settled(60)
            self.assertEqual(len(self.assert_same_everywhere(group)), 100)

    def test_concerns_say_what_they_wait_for(self):
        with Set() as group:
            primary = group.initiate()
            with client_of(group) as client:
                items = client.app.items
                items.with_options(write_concern=WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))).insert_one({"_id": 0})
                with self.assertRaises(pymongo.errors.WriteConcernError) as caught:
                    items.with_options(write_concern=WriteConcern(w=4)).insert_one({"_id": 1})
                self.assertEqual(caught.exception.code, 100)
                with self.assertRaises(pymongo.errors.WriteConcernError) as caught:
                    items.with_options(write_concern=WriteConcern(w="nowhere")).insert_one({"_id": 2})
                self.assertEqual(caught.exception.code, 79)
                majority = items.with_options(read_concern=ReadConcern("majority"))
                items.with_options(write_concern=MAJORITY).insert_one({"_id": 3})
                self.assertEqual(majority.count_documents({"_id": 3}), 1)
                self.assertEqual(items.with_options(read_concern=ReadConcern("linearizable")).find_one({"_id": 3}), {"_id": 3})
                for member in group.others(primary):
                    member.kill()
                with self.assertRaises(pymongo.errors.WTimeoutError):
                    items.with_options(write_concern=WriteConcern(w="majority", wtimeout=200)).insert_one({"_id": 4})

    def test_causal_reads_on_secondaries_see_the_own_writes(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client, client.start_session(causal_consistency=True) as session:
                items = client.app.items
                near = items.with_options(read_preference=ReadPreference.SECONDARY)
                for i in range(100):
                    items.insert_one({"_id": i}, session=session)
                    self.assertEqual(near.find_one({"_id": i}, session=session), {"_id": i})
