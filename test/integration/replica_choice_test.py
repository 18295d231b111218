"""Which of several members a member of a real set fetches from: how near they are, and how far behind the primary."""
import json
import unittest

import bson
from pymongo.write_concern import WriteConcern

from replica_set_support import DistantMember, Frozen, Set, client_of
from support import SLOWNESS, eventually

ALL = WriteConcern(w=4, wtimeout=int(30_000 * SLOWNESS))
FAR = 0.4 * SLOWNESS  # seconds on the way: more than a busy machine takes for an answer, and less than between two heartbeats


def newest_of(shown):
    """The time of the newest entry of a member, as another one shows it."""
    return shown["optime"]["ts"]


class Choice(unittest.TestCase):
    """One set for all: a primary, a secondary, a member that is fetched from, and one that fetches from it and has to choose."""

    @classmethod
    def setUpClass(cls):
        silent = {"priority": 0, "votes": 0}
        cls.group = Set(4, "--setParameter", "writePeriodicNoops=false", kind=DistantMember, m1={"priority": 0}, m2=silent, m3=silent)
        cls.addClassCleanup(cls.group.__exit__)
        cls.group.__enter__()
        cls.group.initiate()
        # Elected soon; from now on a primary that is slow to answer stays.
        cls.group.reconfigure(lambda c: c["settings"].update(electionTimeoutMillis=int(20_000 * SLOWNESS), heartbeatIntervalMillis=int(800 * SLOWNESS)))
        cls.primary, cls.secondary, cls.source, cls.chooser = cls.group.members

    def setUp(self):
        self.group.settled(60)
        self.write(ALL)
        for member, source in ((self.secondary, self.primary), (self.source, self.primary), (self.chooser, self.source)):
            self.fetches_from(member, source)
        self.write(ALL)

    def fetches_from(self, member, source):
        member.command("replSetSyncFrom", source.name)
        self.assertTrue(eventually(lambda: member.status()["syncSourceHost"] == source.name), member.log_tail(30))

    def write(self, concern=WriteConcern(w=1)):
        with self.primary.client() as client:
            client.app.get_collection("items", write_concern=concern).insert_one({})
        return self.primary.hello()["lastWrite"]["opTime"]["ts"]

    def has_chosen(self, source):
        return self.chooser.status()["syncSourceHost"] == source.name

    def is_known(self, member, time):
        return newest_of(self.chooser.view_of(member)) >= time

    def have(self, time, *members):
        """Waits until the chooser knows that these have the entry of that time."""
        for member in members:
            self.assertTrue(eventually(lambda m=member: self.is_known(m, time)), self.chooser.log_tail(30))

    def make_far(self, far, near):
        far.distance.seconds, near.distance.seconds = FAR, 0

        def is_seen():
            return self.chooser.view_of(far)["pingMs"] >= 1000 * FAR > self.chooser.view_of(near)["pingMs"] * 2
        self.assertTrue(eventually(is_seen), self.chooser.view_of(far))

    def move_clock(self, seconds):
        """Moves the primary's clock on: what it writes from now on is later by so much than what the others have."""
        now = self.primary.hello()["$clusterTime"]
        self.primary.ask("ping", **{"$clusterTime": {**now, "clusterTime": bson.Timestamp(now["clusterTime"].time + seconds, 1)}})

    def test_one_that_has_less_is_denied(self):  # REP-013
        self.fetches_from(self.chooser, self.primary)
        with Frozen(self.source):
            newest = self.write()
            self.assertTrue(eventually(lambda: self.chooser.status()["optimes"]["appliedOpTime"]["ts"] >= newest))
            denials = self.denials()
            self.chooser.command("replSetSyncFrom", self.source.name)
            self.assertTrue(eventually(lambda: len(self.denials()) > len(denials)), self.chooser.log_tail(30))
            self.assertEqual((self.denials()[-1]["host"], self.denials()[-1]["reason"]), (self.source.name, "behind"))
            newest = self.write()
            self.assertTrue(eventually(lambda: self.chooser.status()["optimes"]["appliedOpTime"]["ts"] >= newest), "another one has more")
            self.assertFalse(self.has_chosen(self.source))

    def denials(self):
        return [json.loads(line)["attr"] for line in self.chooser.log().splitlines() if "Sync source denied" in line]

    def test_the_nearest_of_the_members_that_are_ahead(self):  # REP-005
        for far, near in ((self.primary, self.secondary), (self.secondary, self.primary)):
            self.make_far(far, near)
            with Frozen(self.source):
                self.have(self.write(), self.primary, self.secondary)
                self.assertTrue(self.has_chosen(self.source))
                self.source.kill()
                self.assertTrue(eventually(lambda n=near: self.has_chosen(n)), self.chooser.log_tail(30))
            self.source.start()
            self.setUp()

    def test_no_member_far_behind_the_primary(self):  # REP-004
        self.make_far(self.primary, self.secondary)
        for seconds, chosen in ((10, self.secondary), (100, self.primary)):  # the limit is 30 s
            with Frozen(self.source):
                self.have(self.write(), self.primary, self.secondary)
                self.assertTrue(self.has_chosen(self.source))
                with Frozen(self.secondary):
                    self.move_clock(seconds)
                    newest = self.write()
                    if chosen is self.secondary:
                        self.have(newest, self.primary)
                        self.assertTrue(self.has_chosen(self.source))
                        self.source.kill()
                    self.assertTrue(eventually(lambda c=chosen: self.has_chosen(c)), self.chooser.log_tail(30))
            if not self.source.running():
                self.source.start()
            self.setUp()


if __name__ == "__main__":
    unittest.main()
