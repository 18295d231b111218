"""What members do when some of them cannot reach each other: links between real processes are cut and mended by the operator."""
import time
import unittest

from replica_set_support import ELECTION_TIMEOUT_MS, Set
from support import SLOWNESS, eventually

TIMEOUT = ELECTION_TIMEOUT_MS / 1000


def cut(a, b):
    """Neither hears of the other any more, and both learn at once that there is no connection."""
    a.links("park", b)
    b.links("park", a)


def mend(a, b):
    a.links("resume", b)
    b.links("resume", a)


class Partitions(unittest.TestCase):
    """One set for all of them: three members of the same priority."""

    @classmethod
    def setUpClass(cls):
        cls.group = Set(3)
        cls.addClassCleanup(cls.group.__exit__)
        cls.group.__enter__()
        cls.group.initiate()

    def setUp(self):
        self.primary = self.group.settled(60)
        self.first, self.second = self.group.others(self.primary)

    def between(self, a, b):
        cut(a, b)
        self.addCleanup(mend, a, b)

    def test_a_member_that_cannot_reach_the_primary_lives_through_another_one(self):
        term = self.primary.term()
        self.between(self.primary, self.first)
        self.assertTrue(eventually(lambda: self.first.hello().get("primary") is None), "it sees no primary itself")
        deadline = time.monotonic() + 4 * TIMEOUT
        while time.monotonic() < deadline:
            self.assertTrue(self.primary.is_primary(), "a primary with a majority stays")
            self.assertEqual(self.primary.view_of(self.first)["health"], 1, "reports of the second keep the first alive")
            time.sleep(0.1)
        self.assertEqual(self.primary.term(), term,
                         "and nobody who sees the primary votes against it")

    def test_a_primary_that_reaches_its_majority_through_another_one_stays(self):
        for _ in range(2):  # the wish of a member that sees no primary is refused again and again
            self.between(self.primary, self.first)
            term = self.primary.term()
            time.sleep(2 * TIMEOUT)
            self.assertTrue(self.primary.is_primary())
            self.assertEqual(self.primary.term(), term)
            self.doCleanups()
            self.group.settled()

    def test_a_primary_alone_steps_down_and_follows_when_it_is_back(self):
        self.between(self.primary, self.first)
        self.between(self.primary, self.second)
        self.assertTrue(eventually(lambda: any(m.is_primary() for m in (self.first, self.second))))
        self.assertTrue(eventually(lambda: not self.primary.is_primary()))
        self.doCleanups()
        successor = self.group.settled()
        self.assertIsNot(successor, self.primary)

    def test_a_refused_connection_to_the_primary_does_not_wait_for_the_election_timeout(self):
        self.primary.kill()
        begun = time.monotonic()
        rest = self.group.others(self.primary)
        self.addCleanup(self.primary.start)
        while not any(m.hello()["isWritablePrimary"] for m in rest):
            self.assertLess(time.monotonic() - begun, 30 * SLOWNESS)
        self.assertLess(time.monotonic() - begun, TIMEOUT)


class WithAnArbiter(unittest.TestCase):
    def test_an_arbiter_defends_a_primary_that_is_as_good(self):
        with Set(3, m2={"arbiterOnly": True}) as group:
            group.initiate()
            primary = group.settled()
            other = next(m for m in group.members[:2] if m is not primary)
            term = primary.term()
            cut(primary, other)
            time.sleep(4 * TIMEOUT)
            self.assertTrue(primary.is_primary(), "the two do not take turns")
            self.assertEqual(primary.term(), term)
            reply = group.members[2].ask("replSetRequestVotes", setName="rs", term=term, candidateIndex=group.members.index(other), dryRun=True,
                                         configVersion=1, configTerm=primary.command("replSetGetConfig")["config"]["term"])
            self.assertIn("I see a primary", reply["reason"])


if __name__ == "__main__":
    unittest.main()
