"""Replica sets whose clients and members authenticate: signed cluster times, their keys, and the default concerns."""
import unittest

import bson
import pymongo
from pymongo import ReadPreference

from replica_set_support import MAJORITY, DistantMember, Member, Set, appear, key_file, rollback_id, vanish
from support import SLOWNESS, eventually

WRITE_CONCERN_FAILED, UNAUTHORIZED = 64, 13
NOBODY = {"hash": bytes(20), "keyId": bson.Int64(0)}  # the signature of members that sign nothing
# What an operator of clocks may do, and who looks at keys.
PRIVILEGES = [{"resource": {"cluster": True}, "actions": ["advanceClusterTime"]},
              {"resource": {"db": "admin", "collection": "system.keys"}, "actions": ["find"]}]


class GuardedSet(unittest.TestCase):
    """One set for all: each test finds a primary and two secondaries, and leaves them so."""

    KIND = Member

    @classmethod
    def setUpClass(cls):
        # Notes of an idle primary would carry its time to the others.
        cls.group = Set.of_class(cls, 3, "--auth", "--keyFile", key_file(cls.addClassCleanup), "--setParameter", "writePeriodicNoops=false", kind=cls.KIND)
        cls.group.members[0].command("replSetInitiate", cls.group.config)
        primary = cls.group.primary()
        primary.command("createUser", "root", pwd="toor", roles=["root"])
        for member in cls.group.members:
            member.login = {"username": "root", "password": "toor"}
        cls.group.have_data()
        primary = cls.group.primary()
        primary.command("createRole", "clockmaker", privileges=PRIVILEGES, roles=[])
        primary.command("createUser", "clock", pwd="tick", roles=["clockmaker"], writeConcern={"w": 3})

    def setUp(self):
        self.primary = self.group.settled(60)
        self.secondary = self.group.others(self.primary)[0]
        self.assertTrue(eventually(lambda: all(self.keys_of(m) for m in self.group.members)), "no keys")

    def as_clock(self, member):
        return member.client(username="clock", password="tick", authSource="admin")

    def keys_of(self, member):
        with self.as_clock(member) as client:
            admin = client.get_database("admin", read_preference=ReadPreference.SECONDARY_PREFERRED)
            return sorted(admin["system.keys"].find(), key=lambda k: k["_id"])



class Guarded(GuardedSet):
    def test_members_answer_alike_for_users_that_exist_and_for_others(self):
        for user in ("root", "nobody"):
            first = bson.Binary(f"n,,n={user},r=abcdefgh".encode())
            answers = [m.ask("saslStart", mechanism="SCRAM-SHA-256", payload=first)["payload"].decode() for m in self.group.members]
            self.assertEqual(len({part for answer in answers for part in answer.split(",") if part.startswith("s=")}), 1, answers)

    def key_of_time(self, member):
        return member.hello().get("$clusterTime", {}).get("signature", {}).get("keyId")

    def time_of(self, member):
        return member.hello()["$clusterTime"]

    def move_ahead(self, member, seconds):
        """Moves the clock of one member on, as whoever has the right to may; gives its time as it signs it for others."""
        now = self.time_of(member)["clusterTime"]
        with self.as_clock(member) as client, client.start_session() as session:
            session.advance_cluster_time({"clusterTime": bson.Timestamp(now.time + seconds, 1), "signature": NOBODY})
            client.admin.command("ping", session=session)
        ahead = self.time_of(member)
        self.assertGreaterEqual(ahead["clusterTime"].time, now.time + seconds)
        return ahead

    def moves(self, member, time):
        """Whether a member goes on from a time that a stranger sends; one that is not proven it passes over."""
        reply = member.ask("hello", **{"$clusterTime": time})
        self.assertTrue(reply["ok"], reply)
        return reply["$clusterTime"]["clusterTime"] >= time["clusterTime"]

    def test_only_what_another_member_has_signed_moves_the_clock(self):  # CLK-005, CLK-006
        real = self.move_ahead(self.primary, 100)
        signature = real["signature"]
        later = {**real, "clusterTime": bson.Timestamp(real["clusterTime"].time + 1, 1)}  # no member tells another of it
        for forged in (later,
                       {**later, "signature": {**signature, "hash": bytes(20)}},
                       {**later, "signature": {**signature, "keyId": bson.Int64(7)}},
                       {**later, "signature": NOBODY},
                       {"clusterTime": later["clusterTime"]}):
            self.assertFalse(self.moves(self.secondary, forged), forged)
        self.assertLess(self.time_of(self.secondary)["clusterTime"], later["clusterTime"], "what is not proven moves nothing")
        self.assertTrue(self.moves(self.secondary, real))

    def test_a_driver_carries_times_from_member_to_member(self):
        hosts = ",".join(m.name for m in self.group.members)
        self.move_ahead(self.primary, 20)
        with pymongo.MongoClient(f"mongodb://{hosts}/?replicaSet=rs", username="root", password="toor", retryWrites=False) as client:
            with client.start_session(causal_consistency=True) as session:
                items = client.app.get_collection("items", read_preference=ReadPreference.SECONDARY)
                for i in range(20):
                    client.app.items.insert_one({"_id": f"causal-{i}"}, session=session)
                    self.assertIsNotNone(items.find_one({"_id": f"causal-{i}"}, session=session))

    def test_every_member_has_the_keys_and_only_who_may_sees_them(self):  # CLK-008
        keys = self.keys_of(self.primary)
        self.assertEqual([k["purpose"] for k in keys], ["HMAC", "HMAC"])
        self.assertEqual([len(k["key"]) for k in keys], [20, 20])
        for member in self.group.members:
            self.assertEqual(self.keys_of(member), keys)
            self.assertTrue(eventually(lambda m=member: self.key_of_time(m) == keys[0]["_id"]), "a key signs once a majority has it")
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            with self.primary.client(username="root", password="toor") as client:
                client.admin["system.keys"].find_one()
        self.assertEqual(caught.exception.code, UNAUTHORIZED)

    def test_keys_and_defaults_outlive_the_primary(self):  # CLK-009
        keys = self.keys_of(self.primary)
        wanted = {"w": 3, "wtimeout": int(700 * SLOWNESS)}
        self.primary.command("setDefaultRWConcern", 1, defaultReadConcern={"level": "majority"}, defaultWriteConcern=wanted)
        signed = self.move_ahead(self.primary, 50)
        self.primary.kill()
        try:
            successor = self.group.primary(60)
            self.assertTrue(self.moves(successor, signed))
            self.assertEqual(self.keys_of(successor), keys)
            for member in self.group.others(self.primary):
                shown = member.command("getDefaultRWConcern", inMemory=True)
                self.assertEqual(shown["defaultReadConcern"], {"level": "majority"})
                self.assertEqual((shown["defaultWriteConcern"], shown["defaultWriteConcernSource"]), (wanted, "global"))
            late = successor.command("createUser", "late", pwd="x", roles=[])
            self.assertEqual(late["writeConcernError"]["code"], WRITE_CONCERN_FAILED, "two members are not three")
            successor.command("createUser", "enough", pwd="x", roles=[], writeConcern={"w": "majority"})
        finally:
            self.primary.start()
            self.group.settled(60)
            self.group.have_data()
        self.assertEqual(self.keys_of(self.primary), keys)
        self.assertEqual(self.primary.command("getDefaultRWConcern")["defaultWriteConcern"], wanted)
        self.group.primary().command("setDefaultRWConcern", 1, defaultReadConcern={}, defaultWriteConcern={"w": "majority"})


class RightsThatAreRolledBack(GuardedSet):
    """A primary that nobody hears gives rights that nobody else knows of. It takes them back with its data."""

    KIND = DistantMember

    def find(self, client):
        """The code with which a read is refused; 0: it is answered."""
        try:
            client.app.command({"find": "items"}, read_preference=ReadPreference.SECONDARY_PREFERRED)
        except pymongo.errors.OperationFailure as refused:
            return refused.code
        return 0

    def connected(self, member, user):
        """A client with one connection, which stays open."""
        client = member.client(username=user, password="x", authSource="admin", maxPoolSize=1)
        self.addCleanup(client.close)
        return client

    def number_of(self, client):
        return client.admin.command("hello")["connectionId"]

    def test_on_connections_that_have_used_them(self):  # RBK-016
        old = self.primary
        rest = self.group.others(old)
        old.command("createUser", "reader", pwd="x", roles=[], writeConcern={"w": 3})
        old.command("createRole", "library", privileges=[], roles=[], writeConcern={"w": 3})
        old.command("createUser", "visitor", pwd="x", roles=["library"], writeConcern={"w": 3})
        reader, visitor = self.connected(old, "reader"), self.connected(old, "visitor")
        self.assertEqual((self.find(reader), self.find(visitor)), (UNAUTHORIZED, UNAUTHORIZED))
        before = rollback_id(old)
        self.addCleanup(appear, self.group.members)
        with old.client(**old.login) as root:
            root.admin.command("ping")
            for other in rest:
                vanish(old, other)
                vanish(other, old)
            alone = {"writeConcern": {"w": 1}}
            root.admin.command("grantRolesToUser", "reader", roles=[{"role": "read", "db": "app"}], **alone)
            root.admin.command("grantRolesToRole", "library", roles=[{"role": "read", "db": "app"}], **alone)
            root.admin.command("createUser", "ghost", pwd="x", roles=[{"role": "read", "db": "app"}], **alone)
        ghost = self.connected(old, "ghost")
        self.assertEqual([self.find(c) for c in (reader, visitor, ghost)], [0, 0, 0])
        numbers = [self.number_of(c) for c in (reader, visitor)]
        self.assertTrue(eventually(lambda: any(m.is_primary() for m in rest) and not old.is_primary(), 60), old.log_tail(20))
        new = next(m for m in rest if m.is_primary())
        with new.client(**new.login) as root:
            root.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "new"})
        self.assertEqual([self.find(c) for c in (reader, visitor)], [0, 0], "nothing is undone as yet")
        appear(self.group.members)
        self.assertTrue(eventually(lambda: old.hello().get("secondary") and rollback_id(old) > before, 60), old.log_tail(40))
        self.assertEqual([self.find(c) for c in (reader, visitor)], [UNAUTHORIZED, UNAUTHORIZED])
        self.assertEqual([self.number_of(c) for c in (reader, visitor)], numbers, "they are the same connections")
        self.assertEqual(self.find(ghost), UNAUTHORIZED)


if __name__ == "__main__":
    unittest.main()
