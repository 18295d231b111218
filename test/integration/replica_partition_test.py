"""What members do when some of them cannot reach each other: links between real processes are cut and mended by the operator."""
import os
import time
import unittest

from pymongo.write_concern import WriteConcern

from replica_set_support import Frozen, Set, cut, mend
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
        cls.group = Set(3, **cls.OPTIONS)
        cls.addClassCleanup(cls.group.__exit__)
        cls.group.__enter__()
        cls.group.initiate()

    def setUp(self):
        self.primary = self.group.settled(60)
        self.first, self.second = self.group.others(self.primary)

    def between(self, a, b):
        cut(a, b)
        self.addCleanup(mend, a, b)


class TheyKeepTheirPrimary(PartitionTest):
    OPTIONS = {"election_timeout_ms": LONG_TIMEOUT * 1000}

    def test_a_member_that_cannot_reach_the_primary_lives_through_another_one(self):
        term = self.primary.term()
        self.between(self.primary, self.first)
        self.assertTrue(eventually(lambda: self.first.hello().get("primary") is None), "it sees no primary itself")
        deadline = time.monotonic() + 1.5 * LONG_TIMEOUT  # what is not heard of for the election timeout counts as dead
        while time.monotonic() < deadline:
            self.assertTrue(self.primary.is_primary(), "a primary with a majority stays")
            self.assertEqual(self.primary.view_of(self.first)["health"], 1, "reports of the second keep the first alive")
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


if __name__ == "__main__":
    unittest.main()
