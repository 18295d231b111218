"""New primaries that lack something when they are elected: they fetch what others have, apply what they have fetched, and lead only then."""
import unittest

from pymongo.write_concern import WriteConcern

from replica_set_support import Set, client_of, cut, documents_of, rollback_id
from support import SLOWNESS, eventually

ALONE = WriteConcern(w=1)
TWO = WriteConcern(w=2, wtimeout=int(30_000 * SLOWNESS))
# A death is noticed by the connection that it refuses, long before this; a busy machine is no reason to elect anybody, nor to leave out what a member has.
PATIENT = int(5000 * SLOWNESS)
NOT_WRITABLE_PRIMARY = 10107


def hold_applier(member):
    """It fetches, votes and is elected as any other, and applies nothing once the commit of an index comes: for that it awaits its scan."""
    member.command({"configureFailPoint": "hangIndexBuild", "mode": "alwaysOn", "data": {"phase": "following"}})


def let_go(member):
    member.command({"configureFailPoint": "hangIndexBuild", "mode": "off"})


class CatchUp(unittest.TestCase):
    def hold_appliers(self, group, *members):
        """All have the same hundred documents, and these members apply nothing behind them."""
        count = sum(not m.hello().get("arbiterOnly") for m in group.members)
        with client_of(group) as client:
            items = client.app.get_collection("items", write_concern=WriteConcern(w=count, wtimeout=int(30_000 * SLOWNESS)))
            items.insert_many([{"_id": i, "x": i} for i in range(100)])
        for member in members:
            hold_applier(member)
        wanted = [{"key": {"x": 1}, "name": "x_1"}]
        self.assertEqual(group.primary().ask({"createIndexes": "items"}, db="app", indexes=wanted, writeConcern={"w": 1})["ok"], 1)
        for member in members:
            self.assertTrue(eventually(lambda m=member: m.phases("replication/applier") == ["writing"]), member.log_tail(20))

    def elected(self, member, phase):
        """Waits until it is elected and gets no further than to this phase."""
        self.assertTrue(eventually(lambda: member.phases("replication/topology") == [phase], 60), member.log_tail(30))
        self.assertEqual(member.status()["myState"], 1, "it is elected")
        self.assertFalse(member.hello()["isWritablePrimary"])
        refused = member.ask({"insert": "items"}, db="app", documents=[{}])
        self.assertEqual(refused.get("code"), NOT_WRITABLE_PRIMARY, refused)

    def fetched(self, member):
        """How many entries it has fetched and not applied."""
        return member.metrics()["metrics"]["repl"]["buffer"]["count"]

    def elections(self, member):
        return member.metrics()["electionMetrics"]

    def assert_leads_with(self, member, ids):
        self.assertTrue(eventually(member.is_primary, 60), member.log_tail(30))
        found = {d["_id"] for d in documents_of(member)}
        self.assertEqual(sorted(set(ids) - found), [])
        with member.client() as client:
            self.assertEqual(len(list(client.app.items.find({"x": {"$gte": 0}}, hint="x_1"))), 100, "the index is there, too")
            client.app.get_collection("items", write_concern=TWO).insert_one({"_id": "last"})

    def test_a_held_member_is_elected_and_fetches_what_another_one_has(self):  # ELE-019, ELE-021
        """Of the primary it is cut off, and must not chain; so what the third member has is fetched by the catch-up alone."""
        roles = {"m2": {"priority": 0, "votes": 0}, "m3": {"arbiterOnly": True}}
        with Set(4, "--setParameter", "writePeriodicNoops=false", election_timeout_ms=PATIENT, **roles) as group:
            group.config["settings"]["chainingAllowed"] = False
            old = group.initiate()
            new, ahead = next(m for m in group.members[:2] if m is not old), group.members[2]
            self.hold_appliers(group, new)
            cut(old, new)
            self.assertTrue(eventually(lambda: new.phases("replication/fetcher") == ["choosing"]), new.log_tail(20))
            with old.client() as client:
                items = client.app.get_collection("items", write_concern=TWO)
                acknowledged = [items.insert_one({"_id": f"on two {i}"}).inserted_id for i in range(100)]
            self.assertEqual(self.fetched(new), 0)
            before = rollback_id(old)
            old.kill()
            self.elected(new, "catching up")
            self.assertTrue(eventually(lambda: self.fetched(new) >= 100), new.log_tail(20))
            self.assertEqual(new.phases("replication/topology"), ["catching up"], "until it has applied them")
            let_go(new)
            self.assert_leads_with(new, acknowledged)
            figures = self.elections(new)
            self.assertEqual((figures["numCatchUps"], figures["numCatchUpsSucceeded"]), (1, 1), figures)
            old.start()
            new.links("resume", old)
            group.settled(60)
            for member in (ahead, old):
                self.assertTrue(eventually(lambda m=member: documents_of(m) == documents_of(new), 60), member.log_tail(20))
            self.assertEqual(rollback_id(old), before + 1, "with its start: it was killed")
            self.assertNotIn("The state is ROLLBACK", old.log(), "all that it wrote has come to the new primary")

    def test_a_held_member_is_elected_and_applies_what_it_has_fetched(self):  # ELE-022
        """Nobody is ahead of it, for the other member that lives is held, too; so there is nothing to catch up with, and much to drain."""
        with Set(3, "--setParameter", "writePeriodicNoops=false", election_timeout_ms=PATIENT, m2={"priority": 0}) as group:
            old = group.initiate()
            new = next(m for m in group.members[:2] if m is not old)
            held = group.others(old)
            self.hold_appliers(group, *held)
            with old.client() as client:
                items = client.app.get_collection("items", write_concern=ALONE)
                written = [items.insert_one({"_id": f"alone {i}"}).inserted_id for i in range(100)]
            for member in held:
                self.assertTrue(eventually(lambda m=member: self.fetched(m) == 100), member.log_tail(20))
            old.kill()
            self.elected(new, "draining")
            for member in held:
                let_go(member)
            self.assert_leads_with(new, written)
            figures = self.elections(new)
            self.assertEqual((figures["numCatchUps"], figures["numCatchUpsAlreadyCaughtUp"]), (0, 1), figures)
            for member in held:
                self.assertTrue(eventually(lambda m=member: documents_of(m) == documents_of(new)), member.log_tail(20))


if __name__ == "__main__":
    unittest.main()
