"""What members do when some of them cannot reach each other: links between real processes are cut and mended by the operator, or what goes over them
vanishes, of which nobody is told."""
import os
import time
import unittest

import pymongo
from pymongo.write_concern import WriteConcern

from replica_set_support import (ELECTION_TIMEOUT_MS, MAJORITY, DistantMember, Frozen, Set, appear, client_of, cut, documents_of, has_hash, hash_of, mend, rollback_id,
                                 vanish)
from support import SLOWNESS, eventually

# Seconds. Where no election may come a busy machine must not cause one: a stall as long as this would.
LONG_TIMEOUT = 10 * SLOWNESS
ALONE = WriteConcern(w=1)
TRIALS = int(os.environ.get("TROUPE_TEST_FAILOVERS", "5"))


def stands(member):
    """How often it stood for election because it saw no primary, also if the dry run was refused."""
    return member.metrics()["electionMetrics"]["electionTimeout"]["called"]


class PartitionTest(unittest.TestCase):
    """One set for all tests of a class: three members of the same priority."""

    OPTIONS = {}

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3, **cls.OPTIONS)
        cls.group.initiate()

    def setUp(self):
        self.primary = self.group.settled(60)
        self.first, self.second = self.group.others(self.primary)

    def between(self, a, b):
        cut(a, b)
        self.addCleanup(mend, a, b)


class TheyKeepTheirPrimary(PartitionTest):
    WAITS = "for election timeouts"

    OPTIONS = {"election_timeout_ms": LONG_TIMEOUT * 1000}

    def test_a_member_that_cannot_reach_the_primary_lives_through_another_one(self):
        term = self.primary.term()
        self.between(self.primary, self.first)
        self.assertTrue(eventually(lambda: self.first.hello().get("primary") is None), "it sees no primary itself")

        def lives_without_a_connection():
            shown = self.primary.view_of(self.first)
            return shown["health"] == 0 and shown["lastHeartbeatMessage"].startswith("no connection")
        self.assertTrue(eventually(lives_without_a_connection), self.primary.view_of(self.first))
        deadline = time.monotonic() + 1.5 * LONG_TIMEOUT  # what is not heard of for the election timeout counts as dead
        while time.monotonic() < deadline:
            self.assertTrue(self.primary.is_primary(), "a primary with a majority stays")
            self.assertTrue(lives_without_a_connection(), "reports of the second keep the first alive")
            time.sleep(0.02)  # each look is connections of its own, and one address may not open them at any pace
        self.assertEqual(self.primary.term(), term, "and nobody who sees the primary votes against it")

    def test_a_member_whose_source_sees_the_primary_does_not_stand(self):  # REP-032
        self.between(self.primary, self.first)

        def follows_the_second():  # which has to be ahead to be chosen
            with self.primary.client() as client:
                client.app.get_collection("items", write_concern=ALONE).insert_one({})
            return self.first.status()["syncSourceHost"] == self.second.name
        self.assertTrue(eventually(follows_the_second, 30), self.first.log_tail(30))
        time.sleep(LONG_TIMEOUT / 2)  # the source has to say it twice; a refused wish is tried again meanwhile
        stood, deadline = stands(self.first), time.monotonic() + 1.5 * LONG_TIMEOUT
        while time.monotonic() < deadline:
            follows_the_second()
            time.sleep(0.1)
        self.assertEqual(stands(self.first), stood)
        self.assertIsNone(self.first.hello().get("primary"))

    def test_a_member_that_cannot_write_what_it_is_told_counts_as_alive(self):
        def lives():
            return all(m.view_of(self.second)["health"] == 1 for m in (self.primary, self.first))
        with Frozen(self.second):
            self.group.reconfigure(lambda c: c["settings"].update(catchUpTimeoutMillis=12_345))
            deadline = time.monotonic() + 1.5 * LONG_TIMEOUT
            while time.monotonic() < deadline:
                self.assertTrue(lives(), "under fsyncLock its new config waits to be written")
                time.sleep(0.1)
            self.assertEqual(self.primary.view_of(self.second)["configVersion"] + 1, self.primary.view_of(self.first)["configVersion"])
        self.assertTrue(eventually(lambda: self.second.command("replSetGetConfig")["config"]["settings"]["catchUpTimeoutMillis"] == 12_345))

    def test_a_refused_connection_to_the_primary_does_not_wait_for_the_election_timeout(self):
        taken = []
        for _ in range(TRIALS):
            primary = self.group.settled(60)
            rest = self.group.others(primary)
            primary.kill()
            killed = time.monotonic()
            self.assertTrue(eventually(lambda: any(m.is_primary() for m in rest), 60), "no successor")
            taken.append(time.monotonic() - killed)
            primary.start()
        print(f"      failover in {TRIALS} trials: {min(taken):.2f} to {max(taken):.2f} s", flush=True)
        # The timeout is counted from the last heartbeat, at most half a second before. A trial may need a second ballot.
        self.assertLess(sorted(taken)[len(taken) // 2], 0.8 * LONG_TIMEOUT)


class WithoutChaining(PartitionTest):
    """Who does not reach the primary has no source, and stands."""

    OPTIONS = {"election_timeout_ms": LONG_TIMEOUT * 1000}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.group.reconfigure(lambda c: c["settings"].update(chainingAllowed=False))

    def test_a_primary_that_reaches_its_majority_through_another_one_stays(self):
        for _ in range(2):  # the wish of a member that sees no primary is refused again and again
            term, stood = self.primary.term(), stands(self.first)
            self.between(self.primary, self.first)
            self.assertTrue(eventually(lambda: stands(self.first) > stood))
            self.assertTrue(self.primary.is_primary())
            self.doCleanups()
            self.assertIs(self.group.settled(), self.primary)
            self.assertEqual(self.primary.term(), term)


class TheyElectAnother(PartitionTest):
    def test_a_primary_alone_steps_down_and_follows_when_it_is_back(self):
        self.between(self.primary, self.first)
        self.between(self.primary, self.second)
        self.assertTrue(eventually(lambda: any(m.is_primary() for m in (self.first, self.second))))
        self.assertTrue(eventually(lambda: not self.primary.is_primary()))
        self.doCleanups()
        successor = self.group.settled()
        self.assertIsNot(successor, self.primary)


class WithAnArbiter(unittest.TestCase):
    def test_an_arbiter_defends_a_primary_that_is_as_good(self):
        with Set(3, election_timeout_ms=LONG_TIMEOUT * 1000, m2={"arbiterOnly": True}) as group:
            group.initiate()
            primary = group.settled()
            other = next(m for m in group.members[:2] if m is not primary)
            term = primary.term()
            stood = stands(other)
            cut(primary, other)
            self.assertTrue(eventually(lambda: stands(other) > stood))
            self.assertTrue(primary.is_primary(), "the two do not take turns")
            reply = group.members[2].ask("replSetRequestVotes", setName="rs", term=term, candidateIndex=group.members.index(other), dryRun=True,
                                         configVersion=1, configTerm=primary.command("replSetGetConfig")["config"]["term"])
            self.assertIn("I see a primary", reply["reason"])
            mend(primary, other)
            self.assertIs(group.settled(), primary)
            self.assertEqual(primary.term(), term)


class Silence(unittest.TestCase):
    """What members say to each other vanishes on its way; connections stay, and clients still reach everybody."""

    # What another primary takes to be there: the silence is noticed, somebody stands, maybe twice, and leads.
    LONGEST = 6 * ELECTION_TIMEOUT_MS / 1000

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3, kind=DistantMember)
        cls.group.initiate()

    def setUp(self):
        self.primary = self.group.settled(60)
        self.rest = self.group.others(self.primary)
        self.addCleanup(appear, self.group.members)
        self.name = self.id().rsplit(".", 1)[1]

    def insert(self, client, document, concern):
        client.app.get_collection(self.name, write_concern=concern).insert_one({"_id": document})

    def assert_replaced(self, is_heard, hears):
        """Of a primary that is not heard by the others, or does not hear them: another one leads, this one no more, what a majority had is kept and what it
        had alone is not, and it follows when it can."""
        old, rollbacks = self.primary, rollback_id(self.primary)
        with old.client() as alone, client_of(self.group) as client:
            self.insert(client, "before", MAJORITY)
            begun = time.monotonic()
            for other in self.rest:
                if not is_heard:
                    vanish(old, other)
                if not hears:
                    vanish(other, old)
            if not is_heard:
                self.insert(alone, "alone", ALONE)
            with self.assertRaises(pymongo.errors.PyMongoError) as caught:
                self.insert(alone, "never acknowledged", WriteConcern(w=3, wtimeout=int(60_000 * SLOWNESS)))
            self.assertIn(getattr(caught.exception, "code", None), (11602, 10107, 189), f"it is told by the step-down: {caught.exception}")
            self.assertTrue(eventually(lambda: not old.is_primary() and any(m.is_primary() for m in self.rest), 60), old.log_tail(30))
            taken = time.monotonic() - begun
            self.assertLess(taken, self.LONGEST)
            self.assertIsNone(old.hello().get("primary") if not hears else None, "it does not know of the other one")
            self.insert(client, "meanwhile", MAJORITY)
            appear(self.group.members)
            new = self.group.settled(60)
            self.assertIsNot(new, old)
            self.assertTrue(eventually(lambda: has_hash(old, hash_of(new)), 60), old.log_tail(40))
            self.insert(client, "afterwards", WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS)))
        found = [d["_id"] for d in documents_of(old, self.name)]
        self.assertLessEqual({"before", "meanwhile", "afterwards"}, set(found))
        if not is_heard:
            self.assertLessEqual(set(found), {"before", "meanwhile", "afterwards"}, "what only one had")
            self.assertEqual(rollback_id(old), rollbacks + 1)
        print(f"      another primary after {taken:.1f} s", flush=True)

    def test_a_primary_that_hears_and_is_heard_of_by_nobody_is_replaced(self):
        self.assert_replaced(is_heard=False, hears=False)

    def test_a_primary_that_nobody_hears_is_replaced(self):
        """It hears the others, and so learns that another one leads."""
        self.assert_replaced(is_heard=False, hears=True)

    def test_a_primary_that_hears_nobody_steps_down(self):
        """The others hear it, and would follow it for ever."""
        self.assert_replaced(is_heard=True, hears=False)

    def test_a_member_whose_source_is_silent_fetches_from_another_one(self):
        """No connection tells. The primary stays, for its majority hears it, and the other member tells of both."""
        first, second = self.rest
        term = self.primary.term()
        with client_of(self.group) as client:
            self.insert(client, "before", WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS)))
            begun = time.monotonic()
            vanish(self.primary, first)
            vanish(first, self.primary)
            self.insert(client, "meanwhile", WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS)))
            print(f"      fetched from another one after {time.monotonic() - begun:.1f} s", flush=True)
            self.assertEqual(first.status()["syncSourceHost"], second.name)
            self.assertTrue(self.primary.is_primary())
            self.assertEqual(self.primary.term(), term)
            appear(self.group.members)
            self.assertIs(self.group.settled(60), self.primary)


if __name__ == "__main__":
    unittest.main()
