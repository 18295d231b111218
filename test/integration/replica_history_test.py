"""Reads of earlier times on real members: collections, names and indexes as they were then, for as long as the history is kept."""
import unittest

import pymongo
import pymongo.errors

from replica_set_support import Set
from support import SLOWNESS, eventually

BAD_HINT, SNAPSHOT_TOO_OLD = 2, 239
ALL = {"w": 3, "wtimeout": int(30_000 * SLOWNESS)}


class Members(unittest.TestCase):
    """A set, whose primary is asked to write, and each member to read by itself."""

    def begin(self, *options):
        self.group = Set(3, *options)
        self.addCleanup(self.group.__exit__)
        self.group.__enter__()
        self.primary = self.group.initiate()

    def does(self, command, db="app", **fields):
        """Writes on all members, and gives the time from which on that is seen."""
        reply = self.primary.ask(command, db=db, **fields, writeConcern=ALL)
        self.assertEqual(reply["ok"], 1, reply)
        self.assertNotIn("writeErrors", reply)
        self.assertNotIn("writeConcernError", reply)
        return reply["operationTime"]

    def inserts(self, collection, id, **fields):
        return self.does({"insert": collection}, documents=[{"_id": id, **fields}])

    def read(self, member, time, collection, **fields):
        return member.ask({"find": collection}, db="app", sort={"_id": 1}, readConcern={"level": "snapshot", "atClusterTime": time},
                          **{"$readPreference": {"mode": "secondaryPreferred"}, **fields})

    def ids(self, member, time, collection, **fields):
        reply = self.read(member, time, collection, **fields)
        self.assertEqual(reply["ok"], 1, reply)
        return [d["_id"] for d in reply["cursor"]["firstBatch"]]

    def table_of(self, member, name):
        """The file in which a member keeps a collection."""
        with member.client(readPreference="secondaryPreferred") as client:
            row = next(client.app[name].aggregate([{"$listCatalog": {}}]))
            return member.dbpath / f"{row['ident']}.wt"


class Catalog(Members):
    def setUp(self):
        self.begin()

    def test_names_are_those_of_the_time(self):
        before = self.inserts("other", 0)
        steps = [
            (before, [], []),
            (self.inserts("a", 1), [1], []),
            (self.does({"renameCollection": "app.a"}, db="admin", to="app.b"), [], [1]),
            (self.inserts("a", 2), [2], [1]),
            (self.does({"drop": "b"}), [2], []),
            (self.does({"renameCollection": "app.a"}, db="admin", to="app.b"), [], [2]),
            (self.inserts("b", 3), [], [2, 3]),
        ]
        for member in self.group.members:
            for time, a, b in steps:
                self.assertEqual((self.ids(member, time, "a"), self.ids(member, time, "b")), (a, b), (member.name, time))

    def test_indexes_and_documents_are_those_of_the_time(self):
        self.does({"insert": "c"}, documents=[{"_id": i, "x": i} for i in range(100)])
        without = self.does({"update": "c"}, updates=[{"q": {}, "u": {"$set": {"y": 1}}, "multi": True}])
        self.does({"createIndexes": "c"}, indexes=[{"key": {"x": 1}, "name": "x_1"}])
        indexed = self.inserts("c", 100, x=100)
        hidden = self.does({"collMod": "c"}, index={"name": "x_1", "hidden": True})
        shown = self.does({"collMod": "c"}, index={"name": "x_1", "hidden": False}, validator={"x": {"$gte": 0}})
        gone = self.does({"dropIndexes": "c"}, index="x_1")
        self.does({"delete": "c"}, deletes=[{"q": {}, "limit": 0}])
        wanted = {"filter": {"x": {"$gte": 50}}, "hint": "x_1", "batchSize": 1000}
        for member in self.group.members:
            for time in (without, hidden, gone):
                self.assertEqual(self.read(member, time, "c", **wanted).get("code"), BAD_HINT, (member.name, time))
            for time in (indexed, shown):
                self.assertEqual(self.ids(member, time, "c", **wanted), list(range(50, 101)), (member.name, time))
            found = self.read(member, without, "c", batchSize=1000)["cursor"]["firstBatch"]
            self.assertEqual(found, [{"_id": i, "x": i, "y": 1} for i in range(100)])

    def test_a_collection_has_one_uuid_on_all_members_and_through_renames(self):
        def uuids():
            found = set()
            for member in self.group.members:
                with member.client(readPreference="secondaryPreferred") as client:
                    found.add(next(client.app.list_collections(filter={"name": {"$in": ["a", "b"]}}))["info"]["uuid"])
            return found
        self.inserts("a", 1)
        before = uuids()
        self.assertEqual(len(before), 1)
        self.does({"renameCollection": "app.a"}, db="admin", to="app.b")
        self.assertEqual(uuids(), before)
        copy = self.group.others(self.primary)[0]
        copy.kill()
        copy.wipe()
        copy.start()
        self.group.have_data(60)
        self.assertEqual(uuids(), before, "a copy has it, too")
        copy.restart()
        self.group.settled(60)
        self.assertEqual(uuids(), before)


class Drops(Members):
    def await_files(self, files, there, why):
        self.assertTrue(eventually(lambda: all(f.exists() == there for f in files), 40), f"{why}: {[f.exists() for f in files]}")

    def keep_history(self, seconds):
        for member in self.group.members:
            member.command("setParameter", 1, minSnapshotHistoryWindowInSeconds=seconds)

    def pending(self):
        return [m.metrics()["storageEngine"]["dropPendingIdents"] for m in self.group.members]

    def test_a_dropped_collection_is_there_until_its_history_ends(self):
        """Nothing is written meanwhile but the notes of an idle primary."""
        self.begin("--syncdelay", "1", "--setParameter", "periodicNoopIntervalSecs=1")
        time = self.inserts("c", 1)
        files = [self.table_of(m, "c") for m in self.group.members]
        self.await_files(files, True, "written by a checkpoint")
        self.does({"drop": "c"})
        for member in self.group.members:
            member.command("fsync")
            self.assertEqual(self.ids(member, time, "c"), [1])
        self.assertTrue(all(n > 0 for n in self.pending()), self.pending())
        self.await_files(files, True, "the history is kept")
        self.keep_history(1)
        self.await_files(files, False, "the history has ended")
        self.assertTrue(eventually(lambda: self.pending() == [0, 0, 0]), self.pending())
        for member in self.group.members:
            self.assertEqual(self.read(member, time, "c").get("code"), SNAPSHOT_TOO_OLD)

    def test_a_dropped_collection_is_there_until_a_checkpoint_knows_the_drop(self):
        """A kill before that brings it back, and the log drops it again."""
        self.begin("--syncdelay", "0", "--setParameter", "minSnapshotHistoryWindowInSeconds=0",
                   "--setParameter", "periodicNoopIntervalSecs=1")
        self.inserts("c", 1)
        files = [self.table_of(m, "c") for m in self.group.members]
        for member in self.group.members:
            member.command("fsync")
        dropped = self.does({"drop": "c"})
        for i in range(3):
            self.inserts("other", i)

        def oldest_has_passed(member):
            return self.read(member, dropped, "other").get("code") == SNAPSHOT_TOO_OLD
        for member in self.group.members:
            self.assertTrue(eventually(lambda m=member: oldest_has_passed(m)))
        self.assertEqual([f.exists() for f in files], [True] * 3, "the last checkpoint has the collection")
        killed = self.group.others(self.primary)[0]
        killed.kill()
        killed.start()
        self.group.settled(60)
        with killed.client(readPreference="secondaryPreferred") as client:
            self.assertNotIn("c", client.app.list_collection_names())
            self.assertEqual(client.app.other.count_documents({}), 3)
        for member in self.group.members:
            member.command("fsync")
        self.await_files(files, False, "a checkpoint has the drop")


if __name__ == "__main__":
    unittest.main()
