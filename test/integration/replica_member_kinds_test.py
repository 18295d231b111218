"""Members of kinds that need care of their own: such as build no indexes, and such as apply the log late."""
import time
import unittest

from pymongo.write_concern import WriteConcern

from replica_set_support import Set, client_of, cut, documents_of, hash_of, mend
from support import SLOWNESS, eventually

EVERYWHERE = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))
ONE = WriteConcern(w=1)


def collection_of(client, concern=EVERYWHERE, name="items"):
    return client.app.get_collection(name, write_concern=concern)


def source_of(member):
    return member.status()["syncSourceHost"]


class WithoutIndexes(unittest.TestCase):
    def setUp(self):
        self.group = Set(3, m1={"priority": 0}, m2={"priority": 0, "buildIndexes": False})
        self.addCleanup(self.group.__exit__)
        self.group.__enter__()
        self.primary = self.group.initiate()
        _, self.usual, self.lean = self.group.members

    def indexes_of(self, member, name="items"):
        with member.client(readPreference="secondaryPreferred") as client:
            return sorted(client.app[name].index_information())

    def assert_keeps_ids_alone(self, documents):
        """And is otherwise as the primary."""
        with self.lean.client(readPreference="secondaryPreferred") as client:
            names = client.app.list_collection_names()
            self.assertIn("items", names)
            for name in names:
                self.assertEqual(self.indexes_of(self.lean, name), ["_id_"], name)
                outcome = client.app.command("validate", name, full=True)
                self.assertEqual((outcome["valid"], outcome["errors"], outcome["nIndexes"]), (True, [], 1), name)
            self.assertEqual(client.app.items.count_documents({}), documents)
            self.assertEqual(client.app.items.estimated_document_count(), documents)
        self.assertEqual(hash_of(self.lean), hash_of(self.primary))

    def restart(self, wipe=False):
        self.lean.kill()
        if wipe:
            self.lean.wipe()
        self.lean.start()
        self.group.have_data(60)

    def test_it_keeps_the_index_of_the_ids_alone(self):
        with client_of(self.group) as client:
            items, empty = collection_of(client), collection_of(client, name="empty")
            items.insert_many([{"_id": i, "x": i % 10, "y": [i, -i]} for i in range(500)])
            items.create_index("x", name="x_1")
            items.create_index("y", name="y_1")
            client.app.create_collection("empty")
            empty.create_index("u", name="u_1", unique=True)
            empty.insert_one({"_id": 1, "u": 1})
            self.assert_keeps_ids_alone(500)
            for member in (self.primary, self.usual):
                self.assertEqual(self.indexes_of(member), ["_id_", "x_1", "y_1"], member.name)
            self.restart()
            self.assert_keeps_ids_alone(500)

            # Changes of indexes that it does not have.
            client.app.command("collMod", "items", index={"name": "x_1", "hidden": True}, validator={"x": {"$gte": 0}})
            items.update_many({"_id": {"$lt": 50}}, {"$set": {"y": [1, 2, 3]}})
            items.drop_index("y_1")
            items.delete_many({"_id": {"$gte": 400}})
            items.insert_one({"_id": "after", "x": 1})
            self.assert_keeps_ids_alone(401)
            with self.lean.client(readPreference="secondaryPreferred") as own:
                options = own.app.items.options()
            self.assertEqual(options.get("validator"), {"x": {"$gte": 0}}, "what else the collMod has changed")
            self.restart()
            self.assert_keeps_ids_alone(401)

            # A copy of a source that has indexes.
            self.restart(wipe=True)
            self.assert_keeps_ids_alone(401)
            items.create_index([("x", 1), ("y", -1)], name="later")
            items.insert_one({"_id": "last", "x": 2})
            self.assert_keeps_ids_alone(402)
            self.assertEqual(self.indexes_of(self.primary), ["_id_", "later", "x_1"])
            self.restart()
            self.assert_keeps_ids_alone(402)

    def test_a_member_that_builds_indexes_does_not_fetch_from_it(self):
        self.group.settled()
        self.assertEqual(self.usual.ask({"replSetSyncFrom": self.lean.name})["codeName"], "InvalidOptions")
        cut(self.primary, self.usual)
        with client_of(self.group) as client:
            collection_of(client, WriteConcern(w=2, wtimeout=int(30_000 * SLOWNESS))).insert_one({"_id": 1})
            self.assertEqual([d["_id"] for d in documents_of(self.lean)], [1])
            self.assertTrue(eventually(lambda: source_of(self.usual) == ""), self.usual.log_tail(20))
            self.assertFalse(eventually(lambda: source_of(self.usual) != "" or documents_of(self.usual), 3),
                             "the only one that is ahead and within reach has not what it needs")
            mend(self.primary, self.usual)
            collection_of(client).insert_one({"_id": 2})
            # The other way round it may.
            self.lean.command("replSetSyncFrom", self.usual.name)
            self.assertTrue(eventually(lambda: source_of(self.lean) == self.usual.name), self.lean.log_tail(20))
            collection_of(client).create_index("x")
            collection_of(client).insert_one({"_id": 3})
            self.assert_keeps_ids_alone(3)

    def test_the_choice_is_for_life(self):
        def refusal(**fields):
            config = self.primary.command("replSetGetConfig")["config"]
            config["version"] += 1
            config["members"][2].update(fields)
            return self.primary.ask({"replSetReconfig": config})["codeName"]
        self.assertEqual(refusal(buildIndexes=True), "NewReplicaSetConfigurationIncompatible")
        self.assertEqual(refusal(priority=1), "InvalidReplicaSetConfig")


class Delayed(unittest.TestCase):
    SECONDS = int(6 * SLOWNESS)

    def set_of(self, seconds):
        """The third member is late."""
        late = {"priority": 0, "votes": 0, "hidden": True, "secondaryDelaySecs": seconds}
        group = Set(3, m2=late)
        self.addCleanup(group.__exit__)
        group.__enter__()
        self.primary = group.initiate()
        self.late = group.members[2]
        return group

    def ids_of_the_late(self):
        return [d["_id"] for d in documents_of(self.late)]

    def has_fetched_and_waits(self):
        return self.late.phases("replication/applier") == ["delaying"]

    def delay(self, group, seconds):
        def change(config):
            config["members"][2]["secondaryDelaySecs"] = seconds
        group.reconfigure(change, self.primary)

    def test_writes_appear_after_the_delay(self):
        group = self.set_of(self.SECONDS)
        with client_of(group) as client:
            collection_of(client, ONE).insert_one({"_id": 1})
            written = time.monotonic()
            self.assertFalse(eventually(self.ids_of_the_late, self.SECONDS / 3 / SLOWNESS))
            self.assertTrue(eventually(self.ids_of_the_late, self.SECONDS + 30), self.late.log_tail(20))
            passed = time.monotonic() - written
            self.assertGreater(passed, self.SECONDS - 1, "the clock of the log counts, to which this one is near")
            self.assertEqual(hash_of(self.late), hash_of(self.primary))

    def test_a_member_that_was_removed_goes_on_where_it_was(self):
        group = self.set_of(3600)
        with client_of(group) as client:
            collection_of(client, ONE).insert_one({"_id": "too young"})
            self.assertTrue(eventually(self.has_fetched_and_waits), self.late.log_tail(20))
            kept = {}

            def remove(config):
                kept["member"] = config["members"].pop(2)
            group.reconfigure(remove, self.primary)
            self.assertTrue(eventually(lambda: not self.late.hello().get("secondary")), self.late.log_tail(20))
            self.assertTrue(eventually(lambda: self.late.phases("replication/fetcher") == ["idle"]), self.late.log_tail(20))
            # What it has fetched stays unapplied; the applier looks once a second whether it still has to wait.
            self.assertFalse(eventually(lambda: not self.has_fetched_and_waits(), 3))
            group.reconfigure(lambda c: c["members"].append(kept["member"]), self.primary)
            self.assertTrue(eventually(lambda: self.late.hello().get("secondary"), 60), self.late.log_tail(20))
            self.assertTrue(eventually(lambda: self.late.phases("replication/fetcher") == ["fetching"], 60), self.late.log_tail(20))
            self.assertTrue(eventually(self.has_fetched_and_waits), self.late.log_tail(20))
            self.assertEqual(self.ids_of_the_late(), [])
            self.delay(group, 0)
            self.assertTrue(eventually(lambda: self.ids_of_the_late() == ["too young"]), self.late.log_tail(20))
            collection_of(client).insert_one({"_id": "next"})
            self.assertEqual(hash_of(self.late), hash_of(self.primary))

    def test_a_copy_is_not_delayed_and_what_follows_is(self):
        group = self.set_of(3600)
        with client_of(group) as client:
            self.late.kill()
            self.late.wipe()
            collection_of(client, ONE).insert_one({"_id": "copied"})
            self.late.start()
            group.have_data(60)
            self.assertEqual(self.ids_of_the_late(), ["copied"])
            collection_of(client, ONE).insert_one({"_id": "later"})
            self.assertTrue(eventually(self.has_fetched_and_waits), self.late.log_tail(20))
            self.assertEqual(self.ids_of_the_late(), ["copied"])
            self.delay(group, 0)
            self.assertTrue(eventually(lambda: self.ids_of_the_late() == ["copied", "later"]), self.late.log_tail(20))


if __name__ == "__main__":
    unittest.main()
