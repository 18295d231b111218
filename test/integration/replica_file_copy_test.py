"""A new member that is given its data as files: a copy of the data directory of a member that was stopped in order."""
import shutil
import unittest

import pymongo

from replica_set_support import MAJORITY, Member, Set, client_of, documents_of, has_hash, hash_of
from support import SLOWNESS, eventually

EVERYONE = pymongo.WriteConcern(w=2, wtimeout=int(30_000 * SLOWNESS))
REMOVED = 10  # as myState

class ACopyOfFiles(unittest.TestCase):
    def copy_of(self, source):
        """A member that is not started, with the files of one that is stopped."""
        self.assertEqual(source.stop(), 0, source.log_tail())
        copy = Member()
        self.addCleanup(copy.discard)
        copy.dbpath.rmdir()
        shutil.copytree(source.dbpath, copy.dbpath)
        return copy

    def grown(self, group, count=2000):
        group.initiate()
        with client_of(group) as client:
            items = client.app.get_collection("items", write_concern=EVERYONE if len(group.members) > 1 else MAJORITY)
            items.insert_many([{"_id": i, "text": "x" * 500, "n": i % 7} for i in range(count)])
            items.create_index("n")

    def follows(self, primary, added):
        return eventually(lambda: primary.view_of(added)["stateStr"] == "SECONDARY", 60)

    def test_of_a_member_is_a_new_member_that_copies_nothing(self):
        with Set(2) as group:
            self.grown(group)
            source, = group.others(group.settled())
            added = self.copy_of(source)
            source.start()
            primary = group.settled()
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "written after the copy"})
            added.start()
            self.assertEqual(added.ask("replSetGetStatus").get("state"), REMOVED, "until it is added")
            self.assertEqual(added.hello()["secondary"], False)
            group.reconfigure(lambda c: c["members"].append({"_id": 7, "host": added.name, "priority": 0, "votes": 0}))
            self.assertTrue(self.follows(primary, added), f"{primary.view_of(added)}\n{added.log_tail(40)}")
            self.assertTrue(eventually(lambda: has_hash(added, hash_of(primary))), added.log_tail(40))
            self.assertIn({"_id": "written after the copy"}, documents_of(added))
            # No data were copied: not even an attempt was made.
            self.assertEqual(added.command("replSetGetStatus", initialSync=1).get("initialSyncStatus", {}), {})
            self.assertEqual([line for line in added.log().splitlines() if "nitial sync" in line], [])
            # It counts, and may lead.
            group.reconfigure(lambda c: c["members"][2].update(priority=1, votes=1))
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=pymongo.WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))).insert_one({"_id": "all"})
            added.command("replSetStepUp")
            self.assertTrue(eventually(added.is_primary), added.log_tail(30))
            group.members.append(added)
            group.settled()

    def test_while_the_one_it_was_copied_from_is_away_is_not_taken_for_it(self):
        """The primary is alone, whatever a node with the files of the other one says."""
        with Set(2) as group:
            self.grown(group, 10)
            primary = group.settled()
            source, = group.others(primary)
            added = self.copy_of(source)
            added.start()
            self.assertTrue(eventually(lambda: not primary.is_primary(), 30), "half a set leads nobody")
            self.assertFalse(added.is_primary())
            source.start()
            group.settled(60)

    def test_of_the_only_member_is_another_member(self):
        """A set of one grows so. The copy must not lead a set of its own, under the other's name."""
        with Set(1) as group:
            self.grown(group)
            source, = group.members
            added = self.copy_of(source)
            added.start()
            self.assertTrue(eventually(lambda: added.ask("replSetGetStatus").get("state") == REMOVED), added.log_tail(30))
            self.assertFalse(added.is_primary())
            source.start()
            primary = group.settled()
            group.reconfigure(lambda c: c["members"].append({"_id": 7, "host": added.name, "priority": 0, "votes": 0}))
            self.assertTrue(self.follows(primary, added), f"{primary.view_of(added)}\n{added.log_tail(40)}")
            self.assertTrue(eventually(lambda: has_hash(added, hash_of(primary))), added.log_tail(40))
            self.assertEqual(added.command("replSetGetStatus", initialSync=1).get("initialSyncStatus", {}), {})

    def test_of_a_set_that_is_gone_leads_under_another_name_when_a_config_is_forced(self):
        """docs/operators/disaster-recovery.md, "Everything is gone"."""
        with Set(2) as group:
            self.grown(group, 10)
            restored = self.copy_of(group.others(group.settled())[0])
            wanted = documents_of(group.members[0] if group.members[0].running() else group.members[1])
            for member in group.members:
                if member.running():
                    member.kill()
            restored.start()

            def alone(config):
                config["members"] = [{"_id": 10, "host": restored.name}]
            group.reconfigure(alone, restored, force=True)
            self.assertTrue(eventually(restored.is_primary, 60), restored.log_tail(30))
            self.assertEqual(documents_of(restored), wanted)


if __name__ == "__main__":
    unittest.main()
