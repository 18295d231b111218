"""Disks of members that fill up: they wait with what they apply and copy, stay in the set, and go on when there is space."""
import os
import shutil
import unittest

import pymongo

from replica_set_support import Set, has_hash, hash_of
from support import SmallDisk, eventually

RESERVE_MB = 64


class FullMembers(unittest.TestCase):
    """The last member's data directory lies on a small disk."""

    ALONE = "the disk must not fill up faster than it is looked at"

    def setUp(self):
        self.disk = SmallDisk(self, 320)

    def members(self):
        group = Set(m2={"priority": 0})
        small = group.members[2]
        small.dbpath = self.disk.path
        small.options += ["--setParameter", f"diskSpaceReserveMB={RESERVE_MB}"]
        return group, small

    def write(self, primary, megabytes, first=0):
        """Majority writes, which the two other members acknowledge; the number of documents there are then."""
        with primary.client() as client:
            target = client.app.get_collection("items", write_concern=pymongo.WriteConcern(w="majority", wtimeout=60_000))
            for batch in range(megabytes):
                target.insert_many([{"_id": first + batch * 50 + i, "bytes": os.urandom(20_000)} for i in range(50)])
        return first + megabytes * 50

    def free_megabytes(self):
        return shutil.disk_usage(self.disk.path).free >> 20

    def waits(self, member):
        """For good: at first a checkpoint still makes some room."""
        return not eventually(lambda: member.phases("replication/applier") != ["full"], 3)

    def fill(self, primary, small, there):
        """Writes until the small member waits; the number of documents there are then."""
        while not self.waits(small):
            there = self.write(primary, 10, there)
            self.assertLess(there, 60_000, "a gigabyte went onto a disk of 320 MiB")
        self.assertGreater(self.free_megabytes(), 8, "it has stopped in time")
        return there

    def await_equality(self, primary, small):
        self.assertTrue(eventually(lambda: has_hash(primary, hash_of(small)), 120), small.log_tail())

    def test_a_member_waits_with_what_it_applies_and_goes_on(self):
        group, small = self.members()
        with group:
            group.initiate()
            primary = group.settled()
            there = self.fill(primary, small, 0)
            disk = small.metrics()["diskSpace"]
            self.assertTrue(disk["refusingWrites"] and disk["stopsReplication"], disk)
            self.assertEqual(small.view_of(small)["stateStr"], "SECONDARY")
            with small.client() as client:
                self.assertGreater(client.app.get_collection("items", read_preference=pymongo.ReadPreference.SECONDARY).count_documents({}), 0)
            there = self.write(primary, 2, there)  # a majority goes on without it

            # A kill and a start change nothing of that, but that the journal has gone.
            small.kill()
            small.start()
            self.assertTrue(eventually(lambda: small.hello().get("secondary"), 60), small.log_tail())
            self.fill(primary, small, there)
            self.disk.enlarge(1200)
            self.await_equality(primary, small)
            self.assertFalse(small.metrics()["diskSpace"]["stopsReplication"])
            self.assertTrue(all(m.running() for m in group.members))
            for id in (22461, 22463, 22464):
                self.assertIn(f'"id" : {id},', small.log())

    def test_a_copy_waits_for_space_and_goes_on(self):
        group, small = self.members()
        group.members.remove(small)
        config_of_small = group.config["members"].pop()
        self.addCleanup(small.discard)
        with group:
            group.initiate()
            primary = group.settled()
            self.write(primary, 300)
            small.start()
            group.reconfigure(lambda config: config["members"].append({**config_of_small, "votes": 0}), primary)

            def waits():
                return small.running() and small.copying().get("waitsFor") == "space on the disk"
            self.assertTrue(eventually(waits, 120), small.log_tail())
            self.assertGreater(self.free_megabytes(), 8, "it has stopped in time")
            self.assertEqual(small.copying()["failedInitialSyncAttempts"], 0)
            self.disk.enlarge(1200)
            self.assertTrue(eventually(lambda: small.hello().get("secondary"), 120), small.log_tail())
            self.await_equality(primary, small)


if __name__ == "__main__":
    unittest.main()
