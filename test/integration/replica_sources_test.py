"""Of whom members of real sets fetch: chains, what an operator chooses, what the config forbids, and what breaks on the way."""
import unittest

import pymongo
import pymongo.errors
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Set, client_of, cut, documents_of, mend
from support import SLOWNESS, eventually

ALL = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))


def source_of(member):
    return member.status()["syncSourceHost"]


class Sources(unittest.TestCase):
    """One set for all tests: three members, of which the first leads for as long as it can."""

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3, election_timeout_ms=5000 * SLOWNESS, m0={"priority": 5})
        cls.group.initiate()
        cls.primary, cls.near, cls.far = cls.group.members

    def setUp(self):
        self.assertTrue(eventually(self.primary.is_primary, 60))
        self.group.settled(60)
        self.addCleanup(self.write)

    def write(self):
        """To all members; so everyone has a source when it returns."""
        with client_of(self.group) as client:
            client.app.get_collection("items", write_concern=ALL).insert_one({})

    def settings(self, **fields):
        self.group.reconfigure(lambda c: c["settings"].update(fields), self.primary)

    def fetches_from(self, member, source):
        self.assertTrue(eventually(lambda: source_of(member) == source.name, 60), member.log_tail(30))

    def test_an_operator_chooses_and_hears_of_the_previous_source(self):
        self.write()
        before = source_of(self.far)
        self.assertIn(before, (self.primary.name, self.near.name))
        for source in (self.near, self.primary, self.near):
            reply = self.far.command("replSetSyncFrom", source.name)
            self.assertEqual(reply["syncFromRequested"], source.name)
            self.assertEqual(reply["prevSyncTarget"], before)
            self.fetches_from(self.far, source)
            self.assertTrue(eventually(lambda s=source: self.primary.view_of(self.far)["syncSourceHost"] == s.name), "others hear of it")
            self.write()
            before = source.name
        self.assertEqual(self.far.ask({"replSetSyncFrom": self.far.name})["codeName"], "InvalidOptions", "itself")
        self.assertEqual(self.far.ask({"replSetSyncFrom": "127.0.0.1:1"})["codeName"], "InvalidOptions", "a stranger")
        self.assertEqual(self.primary.ask({"replSetSyncFrom": self.far.name})["codeName"], "NotSecondary")

    def test_without_chaining_everyone_fetches_from_the_primary(self):  # REP-002, REP-034
        """The chain is of a time when the primary could not be reached, and outlasts it. One that an operator asked for would stay."""
        self.far.command("replSetSyncFrom", self.primary.name)
        self.fetches_from(self.far, self.primary)
        cut(self.primary, self.far)
        try:
            self.fetches_from(self.far, self.near)
        finally:
            mend(self.primary, self.far)
        self.group.settled(60)
        self.write()
        self.assertEqual(source_of(self.far), self.near.name, "nothing drives it away")
        self.settings(chainingAllowed=False)
        self.addCleanup(self.settings, chainingAllowed=True)
        self.fetches_from(self.far, self.primary)
        self.fetches_from(self.near, self.primary)
        self.write()

    def test_a_member_that_cannot_reach_the_primary_fetches_through_another_one(self):
        self.far.command("replSetSyncFrom", self.primary.name)
        self.fetches_from(self.far, self.primary)
        cut(self.primary, self.far)
        self.addCleanup(mend, self.primary, self.far)
        self.fetches_from(self.far, self.near)
        # What it has reaches the primary through its source, and counts there.
        self.write()

    def test_a_source_that_dies_is_replaced_and_nothing_is_lost(self):
        self.far.command("replSetSyncFrom", self.near.name)
        self.fetches_from(self.far, self.near)
        self.near.kill()
        self.addCleanup(self.near.start)
        self.fetches_from(self.far, self.primary)
        with client_of(self.group) as client:
            client.app.get_collection("items", write_concern=MAJORITY).insert_many([{} for _ in range(100)])
        self.assertTrue(eventually(lambda: documents_of(self.far) == documents_of(self.primary)))


class Idle(unittest.TestCase):
    def test_a_member_without_anybody_to_fetch_from_waits_and_goes_on(self):
        with Set(3) as group:
            primary = group.initiate()
            rest = group.others(primary)
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=ALL).insert_one({"_id": 1})
            for member in group.members:
                member.kill()
            rest[0].start()
            self.assertTrue(eventually(lambda: rest[0].hello().get("secondary")), rest[0].log_tail(30))
            self.assertEqual(source_of(rest[0]), "")
            self.assertEqual([d["_id"] for d in documents_of(rest[0])], [1], "it serves what it has")
            rest[1].start()
            primary.start()
            group.settled(60)
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=ALL).insert_one({"_id": 2})


if __name__ == "__main__":
    unittest.main()
