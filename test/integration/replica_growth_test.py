"""A set of one that grows to seven voters and shrinks again under writes, one `rs.add`, `rs.reconfig` and `rs.remove` after the other."""
import itertools
import threading
import unittest

import pymongo
from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Member, Set, documents_of, has_hash, hash_of
from support import SLOWNESS, eventually

VOTERS = 7  # at most
STOCK = 2_000  # documents that each new member has to copy, beside those that come meanwhile
# Eight processes share the cores: a busy machine is no reason to elect anybody.
PATIENT = int(5_000 * SLOWNESS)
INVALID_CONFIG = 93


class Writer(threading.Thread):
    """Inserts one document after the other until it is told to end; each is acknowledged by a majority, or among `failed`."""

    def __init__(self, name, primary):
        super().__init__(daemon=True)
        self.name_of_ids, self.uri = name, f"mongodb://{primary.name}/?replicaSet=rs"
        self.acknowledged, self.failed = [], []
        self._ending = threading.Event()

    def run(self):
        with pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=int(20_000 * SLOWNESS)) as client:
            items = client.app.get_collection("items", write_concern=MAJORITY)
            for number in itertools.count():
                if self._ending.wait(0.005):
                    return
                try:
                    self.acknowledged.append(items.insert_one({"_id": f"{self.name_of_ids} {number}", "x": number}).inserted_id)
                except PyMongoError as error:
                    self.failed.append(f"{number}: {error}")

    def goes_on(self):
        """Whether some writes that begin from now on are acknowledged."""
        wanted = len(self.acknowledged) + 10
        return eventually(lambda: len(self.acknowledged) >= wanted, 60)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ending.set()
        self.join(60 * SLOWNESS)


class Growth(unittest.TestCase):
    ALONE = "eight processes take all of the machine"

    def setUp(self):
        self.group = Set(1, election_timeout_ms=PATIENT)
        self.addCleanup(self.group.__exit__)
        self.group.__enter__()
        self.primary = self.group.initiate()
        self.addCleanup(self.primary.discard)
        with self.primary.client() as client:
            items = client.app.get_collection("items", write_concern=MAJORITY)
            items.create_index("x")
            items.insert_many({"_id": f"stock {i}", "x": i, "text": "a" * 200} for i in range(STOCK))
        self.acknowledged = {f"stock {i}" for i in range(STOCK)}

    def start_member(self):
        member = Member()
        self.addCleanup(member.discard)
        return member.start()

    def change(self, change):
        """As `rs.reconfig` does; always of the first primary, which has no reason to step down."""
        self.group.reconfigure(change, self.primary)

    def add(self, member, **fields):
        """As `rs.add` does: one member more, with the next _id."""
        def change(config):
            config["members"].append({"_id": 1 + max(m["_id"] for m in config["members"]), "host": member.name, **fields})
        self.change(change)
        self.group.members.append(member)

    def remove(self, member):
        def change(config):
            config["members"] = [m for m in config["members"] if m["host"] != member.name]
        self.change(change)
        self.group.members.remove(member)

    def demote(self, member):
        def change(config):
            next(m for m in config["members"] if m["host"] == member.name).update(votes=0, priority=0)
        self.change(change)

    def config(self):
        return self.primary.command("replSetGetConfig")["config"]

    def assert_votes(self, voters, majority):
        status = self.primary.status()
        self.assertEqual((status["votingMembersCount"], status["majorityVoteCount"]), (voters, majority))

    def assert_all_have(self, writer):
        """After its end: each member has all that was ever acknowledged, and the same as the primary."""
        self.assertEqual(writer.failed, [])
        self.acknowledged.update(writer.acknowledged)
        self.assertTrue(self.primary.is_primary(), self.primary.log_tail(20))
        with self.primary.client() as client:
            everywhere = WriteConcern(w=len(self.group.members), wtimeout=int(60_000 * SLOWNESS))
            client.app.get_collection("marks", write_concern=everywhere).insert_one({})
        wanted = hash_of(self.primary)
        for member in self.group.others(self.primary):
            self.assertTrue(eventually(lambda m=member: has_hash(m, wanted), 30), member.log_tail(20))
        self.assertEqual({d["_id"] for d in documents_of(self.primary)}, self.acknowledged)

    def grow(self, writer):
        for size in range(2, VOTERS + 1):
            self.add(self.start_member())
            self.assertTrue(writer.goes_on(), f"{size} members: {writer.failed}\n{self.primary.log_tail(20)}")
        self.group.have_data(120)

    def refuse_an_eighth_voter(self, eighth):
        before = self.config()
        with self.assertRaises(pymongo.errors.OperationFailure) as refused:
            self.change(lambda config: config["members"].append({"_id": VOTERS, "host": eighth.name}))
        self.assertEqual(refused.exception.code, INVALID_CONFIG)
        self.assertIn("at most 7 members may vote, not 8", str(refused.exception))
        self.assertEqual(self.config(), before)

    def shrink(self, writer):
        """One of the voters loses its vote, and two others leave."""
        demoted, *leaving = self.group.others(self.primary)[:3]
        self.demote(demoted)
        self.assert_votes(6, 4)
        self.assertTrue(writer.goes_on(), writer.failed)
        for voters, member in zip((5, 4), leaving):
            self.remove(member)
            self.assert_votes(voters, 3)
            self.assertTrue(eventually(lambda m=member: not m.hello().get("secondary"), 30), member.log_tail(20))
            self.assertEqual(member.stop(), 0)
            self.assertTrue(writer.goes_on(), writer.failed)
        self.assertEqual([m["host"] for m in self.config()["members"] if m["votes"] == 0], [demoted.name, self.group.members[-1].name])

    def test_a_set_of_one_grows_to_seven_and_shrinks_under_writes(self):
        with Writer("growing", self.primary) as writer:
            self.grow(writer)
            self.assert_votes(VOTERS, 4)
        self.assert_all_have(writer)
        with Writer("shrinking", self.primary) as writer:
            eighth = self.start_member()
            self.refuse_an_eighth_voter(eighth)
            self.add(eighth, votes=0, priority=0)
            self.assert_votes(VOTERS, 4)
            self.group.have_data(60)
            self.shrink(writer)
        self.assert_all_have(writer)
        # What is left elects another primary, which has everything as well.
        self.primary.kill()
        self.group.members.remove(self.primary)
        self.assertEqual({d["_id"] for d in documents_of(self.group.primary(60))}, self.acknowledged)


if __name__ == "__main__":
    unittest.main()
