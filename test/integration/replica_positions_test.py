"""What members of real sets know of how far each of them is: after a start, while they follow, and under another config."""
import contextlib
import json
import statistics
import time
import unittest
import urllib.request

import bson
import pymongo.errors
from pymongo import ReadPreference
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Frozen, Member, Set, client_of, documents_of
from support import SLOWNESS, eventually

ALONE = WriteConcern(w=1)
ALL = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))
SOON = int(300 * SLOWNESS)  # milliseconds after which a write concern that cannot be satisfied is given up
LONG_TIMEOUT_MS = int(20_000 * SLOWNESS)


def positions_of(member):
    """The times of a member, without their wall clock times."""
    return {name: at for name, at in member.status()["optimes"].items() if name.endswith("OpTime")}


def reporter_of(member):
    """The actor that carries positions between members: its row, and what it says of itself."""
    with urllib.request.urlopen(f"http://127.0.0.1:{member.admin_port}/actors/node/replication/progress", timeout=20 * SLOWNESS) as reply:
        return json.load(reply)


def newest_entry(member):
    with member.client() as client:
        log = client.local.get_collection("oplog.rs", read_preference=ReadPreference.SECONDARY_PREFERRED)
        entry = log.find_one(sort=[("$natural", -1)])
        return {"ts": entry["ts"], "t": entry["t"]}


class Following(unittest.TestCase):
    """One set for all: two voters, of which the first leads, and a member without a vote. Nothing is written but by the tests."""

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3, "--setParameter", "writePeriodicNoops=false", m0={"priority": 5, "tags": {"site": "east"}},
                                 m1={"tags": {"site": "east"}}, m2={"priority": 0, "votes": 0, "tags": {"site": "west"}})
        cls.group.initiate()
        modes = {"bothSites": {"site": 2}, "threeSites": {"site": 3}}
        # Elected soon; from now on a primary that is slow to answer stays. All fetch from it, so none waits for one that is frozen.
        cls.group.reconfigure(lambda c: c["settings"].update(electionTimeoutMillis=LONG_TIMEOUT_MS, getLastErrorModes=modes, chainingAllowed=False))
        cls.primary, cls.voter, cls.silent = cls.group.members

    def setUp(self):
        self.assertTrue(eventually(self.primary.is_primary, 60))
        self.group.settled(60)
        self.write(ALL)

    def write(self, concern=ALONE, member=None):
        """Returns the time of the entry."""
        with (member or self.primary).client() as client:
            client.app.get_collection("items", write_concern=concern).insert_one({})
        return newest_entry(member or self.primary)

    def shows(self, member, **wanted):
        def is_shown():
            found = positions_of(member)
            return all(found[name] == at for name, at in wanted.items())
        self.assertTrue(eventually(is_shown), f"{positions_of(member)}, not {wanted}\n{member.log_tail(20)}")

    def test_what_majority_reads_see_is_shown_apart_from_what_is_committed(self):  # REP-058
        self.silent.command("replSetSyncFrom", self.voter.name)
        self.assertTrue(eventually(lambda: self.silent.status()["syncSourceHost"] == self.voter.name), self.silent.log_tail(30))
        # The primary tells it of the commit point all the same.
        before = self.write(ALL)
        self.shows(self.silent, lastCommittedOpTime=before, readConcernMajorityOpTime=before, appliedOpTime=before, durableOpTime=before)
        with Frozen(self.silent):
            after = self.write(MAJORITY)
            self.shows(self.primary, lastCommittedOpTime=after, readConcernMajorityOpTime=after, appliedOpTime=after)
            self.shows(self.silent, lastCommittedOpTime=after, readConcernMajorityOpTime=before, appliedOpTime=before)
        self.shows(self.silent, lastCommittedOpTime=after, readConcernMajorityOpTime=after, appliedOpTime=after)
        with Frozen(self.voter):
            alone = self.write()
            self.shows(self.primary, lastCommittedOpTime=after, readConcernMajorityOpTime=after, appliedOpTime=alone)
        self.shows(self.primary, lastCommittedOpTime=alone, readConcernMajorityOpTime=alone)

    def test_a_commit_point_under_another_config_is_passed_over(self):  # REP-028
        for is_changed in (False, True):
            before = self.write(ALL)
            self.shows(self.silent, lastCommittedOpTime=before)
            with contextlib.ExitStack() as while_silent_is_frozen:
                with Frozen(self.voter):
                    after = self.write(WriteConcern(w="bothSites", wtimeout=int(30_000 * SLOWNESS)))
                    self.shows(self.silent, appliedOpTime=after, lastCommittedOpTime=before)
                    while_silent_is_frozen.enter_context(Frozen(self.silent))  # it cannot write a new config down, so it has the old one
                    if is_changed:
                        self.group.reconfigure(lambda c: c["members"][1].update(priority=2), self.primary, force=True)
                self.shows(self.primary, lastCommittedOpTime=after)
                if is_changed:
                    self.hears_of_it(self.silent)
                self.shows(self.silent, lastCommittedOpTime=before if is_changed else after)
            self.shows(self.silent, lastCommittedOpTime=after)
            self.assertEqual(*(m.command("replSetGetConfig")["config"]["version"] for m in (self.primary, self.silent)))

    def hears_of_it(self, member):
        """Waits until the primary has told it its commit point again and again."""
        handled = reporter_of(member)["row"]["handled"]

        def is_told():
            row = reporter_of(member)["row"]
            return row["handled"] > handled + 5 and row["lastMessage"] == "CommitPointNews"
        self.assertTrue(eventually(is_told))

    def reports(self, member):
        return reporter_of(member)["state"]["reports"]

    def test_a_primary_reports_to_nobody_and_neither_does_a_node_without_a_set(self):  # REP-053
        leader, other = self.primary, self.voter
        for _ in range(2):
            leading, following = self.reports(leader), self.reports(other)
            for _ in range(10):
                self.write(ALL, leader)
            self.assertEqual(self.reports(leader), leading)
            self.assertGreater(self.reports(other), following)
            other.command("replSetStepUp")
            self.assertTrue(eventually(other.is_primary), other.log_tail(30))
            self.group.settled(60)
            self.write(ALL, other)
            leader, other = other, leader
        with Member() as single:
            self.assertEqual(reporter_of(single)["state"]["reports"], 0)

    def test_a_mode_of_write_concern_waits_for_members_with_its_tags(self):  # REP-065
        def refused(code, **concern):
            with self.assertRaises(pymongo.errors.WriteConcernError) as caught:
                self.write(WriteConcern(**concern))
            self.assertEqual(caught.exception.code, code)
        with Frozen(self.silent):
            self.write(MAJORITY)
            refused(64, w="bothSites", wtimeout=SOON)
        both = WriteConcern(w="bothSites", wtimeout=int(30_000 * SLOWNESS))
        with Frozen(self.voter):
            self.write(both)
            refused(64, w="majority", wtimeout=SOON)
            self.assertEqual(documents_of(self.silent), documents_of(self.primary), "the member with the other tag has it")
        refused(100, w="threeSites")
        refused(79, w="noSites")

    def test_the_time_that_a_client_brings_reaches_all_members_with_the_next_write(self):
        now = self.primary.hello()["$clusterTime"]
        later = bson.Timestamp(now["clusterTime"].time + 100, 1)
        self.primary.ask("ping", **{"$clusterTime": {**now, "clusterTime": later}})
        self.write(ALL)
        for member in self.group.members:
            self.assertGreater(member.hello()["$clusterTime"]["clusterTime"], later)

    def test_the_time_that_a_client_brings_to_one_member_reaches_all_without_a_write(self):  # CLK-005
        for brought_to in self.group.members:
            before = newest_entry(self.primary)
            now = brought_to.hello()["$clusterTime"]
            later = bson.Timestamp(now["clusterTime"].time + 100, 1)
            brought_to.ask("ping", **{"$clusterTime": {**now, "clusterTime": later}})
            for member in self.group.members:
                self.assertTrue(eventually(lambda m=member: m.hello()["$clusterTime"]["clusterTime"] >= later), member.name)
            self.assertEqual(newest_entry(self.primary), before)


class AfterAStart(unittest.TestCase):
    def test_positions_begin_at_the_end_of_the_log(self):  # REC-009
        with Set(3) as group:
            primary = group.initiate()
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=ALL).insert_many([{"_id": i} for i in range(500)])
            for member in group.members:
                member.kill()
            for member in group.members:  # one after the other, alone: there is nobody to fetch from
                member.start()
                self.assertTrue(eventually(lambda m=member: m.hello().get("secondary")), member.log_tail(30))
                newest = newest_entry(member)
                found = positions_of(member)
                self.assertEqual((found["appliedOpTime"], found["durableOpTime"]), (newest, newest))
                self.assertEqual(len(documents_of(member)), 500)
                member.kill()


class Durability(unittest.TestCase):
    ALONE = "measures how soon the journal follows"

    def test_what_nobody_waits_for_is_durable_within_about_a_journal_interval(self):  # REP-060
        with Set(1) as group:
            primary = group.initiate()
            taken = []
            with primary.client() as client:
                items = client.app.get_collection("items", write_concern=WriteConcern(w=1, j=False))
                for _ in range(20):
                    items.insert_many([{"text": "x" * 100} for _ in range(100)])
                    begun = time.monotonic()
                    applied = positions_of(primary)["appliedOpTime"]
                    self.assertTrue(eventually(lambda a=applied: positions_of(primary)["durableOpTime"]["ts"] >= a["ts"]))
                    taken.append(time.monotonic() - begun)
            print(f"      durable behind applied: {statistics.median(taken) * 1000:.0f} ms, {max(taken) * 1000:.0f} ms at most", flush=True)
            self.assertLess(statistics.median(taken), 0.5 * SLOWNESS)  # the interval is 100 ms


if __name__ == "__main__":
    unittest.main()
