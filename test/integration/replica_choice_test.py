"""Which of several members a member of a real set fetches from: how near they are, and how far behind the primary."""
import json
import time
import unittest

import bson
from pymongo.write_concern import WriteConcern

from replica_set_support import DistantMember, Frozen, Parted, Set, documents_of, rollback_id
from support import SLOWNESS, eventually

ALL = WriteConcern(w=4, wtimeout=int(30_000 * SLOWNESS))
ALL_BUT_ONE = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))
FAR = 0.4 * SLOWNESS  # seconds on the way: more than a busy machine takes for an answer, and less than between two heartbeats


def tail(member):
    """The end of its log, without its clients."""
    return "\n".join(line[:300] for line in member.log().splitlines() if '"NETWORK"' not in line)[-6000:]


def newest_of(shown):
    """The time of the newest entry of a member, as another one shows it."""
    return shown["optime"]["ts"]


class Choice(unittest.TestCase):
    """One set for all: a primary, a secondary, a member that is fetched from, and one that fetches from it and has to choose."""

    @classmethod
    def setUpClass(cls):
        silent = {"priority": 0, "votes": 0}
        cls.group = Set.of_class(cls, 4, "--setParameter", "writePeriodicNoops=false", kind=DistantMember, m1={"priority": 0}, m2=silent, m3=silent)
        cls.group.initiate()
        # Elected soon; from now on a primary that is slow to answer stays.
        times = {"electionTimeoutMillis": int(20_000 * SLOWNESS), "heartbeatIntervalMillis": int(800 * SLOWNESS)}
        cls.group.reconfigure(lambda c: c["settings"].update(times))
        cls.primary, cls.secondary, cls.source, cls.chooser = cls.group.members

    def prepare(self):
        """All are near, and have all there is; nobody but the chooser needs the source."""
        for member in self.group.members:
            member.distance.seconds = 0
        if not self.source.running():
            self.source.start()
        self.group.settled(60)
        self.write(ALL)
        for member, source in ((self.secondary, self.primary), (self.source, self.primary), (self.chooser, self.source)):
            self.fetches_from(member, source)
        self.write(ALL)

    def fetches_from(self, member, source):
        """Asks again for a source that could not be probed: the link to one that was just started may not be open yet."""
        def has_source():
            return member.status()["syncSourceHost"] == source.name

        def is_fetching():
            if has_source():
                return member.phases("replication/fetcher") == ["fetching"] and has_source()
            member.command("replSetSyncFrom", source.name)
            return False
        self.assertTrue(eventually(is_fetching), tail(member))

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
            self.assertTrue(eventually(lambda m=member: self.is_known(m, time)), tail(self.chooser))

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
        self.prepare()
        self.fetches_from(self.chooser, self.primary)
        with Frozen(self.source):
            newest = self.write()
            self.assertTrue(eventually(lambda: self.chooser.status()["optimes"]["appliedOpTime"]["ts"] >= newest))
            denials = self.denials()
            self.chooser.command("replSetSyncFrom", self.source.name)
            self.assertTrue(eventually(lambda: len(self.denials()) > len(denials)), tail(self.chooser))
            self.assertEqual((self.denials()[-1]["host"], self.denials()[-1]["reason"]), (self.source.name, "behind"))
            newest = self.write()
            self.assertTrue(eventually(lambda: self.chooser.status()["optimes"]["appliedOpTime"]["ts"] >= newest), "another one has more")
            self.assertFalse(self.has_chosen(self.source))

    def denials(self):
        return [json.loads(line)["attr"] for line in self.chooser.log().splitlines() if "Sync source denied" in line]

    def test_the_nearest_of_the_members_that_are_ahead(self):  # REP-005
        for far, near in ((self.primary, self.secondary), (self.secondary, self.primary)):
            self.prepare()
            self.make_far(far, near)
            with Frozen(self.source):
                self.have(self.write(), self.primary, self.secondary)
                self.assertTrue(self.has_chosen(self.source))
                self.source.kill()
                self.assertTrue(eventually(lambda n=near: self.has_chosen(n)), tail(self.chooser))

    def test_a_chain_by_distance_ends_when_chaining_is_forbidden(self):  # REP-002
        self.prepare()
        self.make_far(self.primary, self.secondary)
        with Frozen(self.source):
            self.have(self.write(), self.primary, self.secondary)
            self.source.kill()
            self.assertTrue(eventually(lambda: self.has_chosen(self.secondary)), tail(self.chooser))
        self.allow_chains(False)
        self.addCleanup(self.allow_chains, True)
        self.assertTrue(eventually(lambda: self.has_chosen(self.primary)), tail(self.chooser))
        self.write(ALL_BUT_ONE)  # the chooser fetches from the primary, though it is far
        self.assertTrue(self.has_chosen(self.primary))

    def allow_chains(self, allowed):
        self.group.reconfigure(lambda c: c["settings"].update(chainingAllowed=allowed), self.primary)

    def test_no_member_far_behind_the_primary(self):  # REP-004
        for seconds, chosen in ((10, self.secondary), (100, self.primary)):  # the limit is 30 s
            self.prepare()
            self.make_far(self.primary, self.secondary)
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
                    self.assertTrue(eventually(lambda c=chosen: self.has_chosen(c)), tail(self.chooser))


class RolledBack(unittest.TestCase):
    def test_a_source_that_has_rolled_back_since_it_was_chosen_is_probed_anew(self):  # REP-017
        """The reader has chosen the primary, and its find is on the way for so long that the primary has lost its place and rolled back."""
        with Set(4, kind=DistantMember, m3={"priority": 0, "votes": 0}) as group:
            group.initiate()
            reader = group.members[3]
            parted = Parted(group, [reader])
            source = parted.old
            with source.client() as client:
                client.app.get_collection("items", write_concern=ALL).insert_one({"_id": "before"})
            id_before = rollback_id(reader)
            with Frozen(reader):
                self.learns_nothing(reader, parted)
                chosen = reader.log().count("Sync source chosen")
                source.distance.held = (reader, b"tailable")
                reader.command("replSetSyncFrom", source.name)
                self.assertTrue(eventually(lambda: reader.log().count("Sync source chosen") > chosen), tail(reader))
                with source.client() as client:
                    alone = client.app.get_collection("items", write_concern=WriteConcern(w=1))
                    parted.part()
                    alone.insert_one({"_id": "alone"})
                parted.await_successor()
                parted.write_on_the_new_branch({"_id": "new"})
                parted.mend()
                parted.await_rollback()
                self.assertNotIn("it has rolled back since it was chosen", reader.log())
                source.distance.held = None
                self.assertTrue(eventually(lambda: "it has rolled back since it was chosen" in reader.log()), tail(reader))
            self.assertTrue(eventually(lambda: [d["_id"] for d in documents_of(reader)] == ["before", "new"]), tail(reader))
            self.assertEqual(rollback_id(reader), id_before)

    def learns_nothing(self, frozen, parted):
        """The frozen member hears of no change any more: it writes a new config down before it goes on, and cannot."""
        parted.group.reconfigure(lambda c: c["settings"].update(heartbeatTimeoutSecs=11), parted.old)
        wanted = parted.old.command("replSetGetConfig")["config"]["version"]
        self.assertTrue(eventually(lambda: all(m.command("replSetGetConfig")["config"]["version"] == wanted for m in parted.rest)), tail(frozen))
        time.sleep(2 * parted.group.config["settings"]["heartbeatIntervalMillis"] / 1000)  # it has been told by now, too
        self.assertLess(frozen.command("replSetGetConfig")["config"]["version"], wanted)


if __name__ == "__main__":
    unittest.main()
