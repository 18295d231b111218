"""One tree over a whole replica set: rows and steps of all members, actions on another member's actors, the picture of the set."""
import json
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import pymongo
import pymongo.errors

from replica_set_support import Background, Set, client_of, key_file
from support import BIN, SLOWNESS, eventually

UNAUTHORIZED = 13
KEEPER = "node/storage/transition-keeper"


def page(member, target, method="GET"):
    """What the admin endpoint of a member answers, as a document."""
    request = urllib.request.Request(f"http://127.0.0.1:{member.admin_port}{target}", method=method, headers={"X-Troupe-Action": "1"})
    with urllib.request.urlopen(request, timeout=20 * SLOWNESS) as reply:
        return json.load(reply)


def tree(member):
    return member.command("actorTree", members=True, cursor={"batchSize": 100_000})["cursor"]["firstBatch"]


class Tree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3)
        cls.group.initiate()

    def setUp(self):
        self.primary = self.group.settled(60)
        self.one, self.other = self.group.others(self.primary)
        self.names = {m.name for m in self.group.members}

    def test_rows_of_all_members_by_command_and_over_http(self):
        for rows in (tree(self.one), page(self.one, "/actors?members=1")["rows"]):
            for name in self.names:
                paths = {row["path"] for row in rows if row["node"] == name}
                self.assertLessEqual({"/node", "/node/storage", "/node/replication/topology"}, paths, name)
            self.assertEqual({row["node"] for row in rows}, self.names)
            self.assertFalse([row for row in rows if "unreachable" in row])

    def test_steps_of_all_members_newest_first(self):
        steps = page(self.one, "/transitions?members=1&under=/node/replication&moves=1&limit=0")["transitions"]
        self.assertEqual({step["node"] for step in steps}, self.names)
        times = [step["at"] for step in steps]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(len(page(self.one, "/transitions?members=1&limit=3")["transitions"]), 3)

    def test_a_dead_member_is_one_row_and_the_others_have_theirs(self):
        self.other.kill()
        try:
            begun = time.monotonic()
            rows = tree(self.primary)
            self.assertLess(time.monotonic() - begun, 3 * SLOWNESS)
            lost = [row for row in rows if row["node"] == self.other.name]
            self.assertEqual([(row["path"], bool(row["unreachable"])) for row in lost], [("/node", True)])
            for alive in (self.primary, self.one):
                self.assertIn("/node/storage", {row["path"] for row in rows if row["node"] == alive.name})
            self.assertTrue(eventually(lambda: self.member_of_picture(self.primary, self.other)["health"] == 0))
            shown = self.member_of_picture(self.primary, self.other)
            self.assertEqual((shown["state"], shown["logWindowSeconds"]), ("DOWN", None))
            self.assertIn("unreachable", self.troupe("tree", "--all"))
        finally:
            self.other.start()

    def running(self, member, command):
        """The operations of a member that carry out that command."""
        with member.client() as client:
            return [row for row in client.admin.aggregate([{"$currentOp": {"allUsers": True}}]) if command in row.get("command", {})]

    def test_a_command_on_another_member_ends_with_the_one_that_asked_for_it(self):
        block = {"failCommands": ["ping"], "blockConnection": True, "blockTimeMS": 60_000, "failInternalCommands": True}
        self.other.command("configureFailPoint", "failCommand", mode="alwaysOn", data=block)
        self.addCleanup(lambda: self.other.command("configureFailPoint", "failCommand", mode="off"))
        asked = {"linkRun": self.other.name, "command": {"ping": 1}}
        begun = time.monotonic()
        self.assertEqual(self.primary.ask({**asked, "maxTimeMS": 300})["codeName"], "MaxTimeMSExpired")
        self.assertLess(time.monotonic() - begun, 20)
        self.assertTrue(eventually(lambda: not self.running(self.other, "ping")), "it does not go on there")
        waiting = Background(self.primary, asked)
        self.assertTrue(eventually(lambda: self.running(self.other, "ping") and self.running(self.primary, "linkRun")))
        operation, = self.running(self.primary, "linkRun")
        self.primary.command("killOp", op=operation["opid"])
        self.assertEqual(waiting.join()["codeName"], "Interrupted")
        self.assertLess(waiting.seconds, 20)
        self.assertTrue(eventually(lambda: not self.running(self.other, "ping")), "nor after a kill")

    def incarnation(self, member):
        return page(member, f"/actors/{KEEPER}")["row"]["incarnation"]

    def test_an_actor_of_another_member_is_restarted_from_here(self):
        before = {m.name: self.incarnation(m) for m in self.group.members}
        done = page(self.one, f"/actors/{KEEPER}/restart?node={self.other.name}&reason=looks+stuck", "POST")
        self.assertEqual((done["ok"], done["node"]), (True, self.other.name))
        self.assertTrue(eventually(lambda: self.incarnation(self.other) == before[self.other.name] + 1))
        for member in (self.one, self.primary):
            self.assertEqual(self.incarnation(member), before[member.name])
        log = self.other.log()
        self.assertIn("looks stuck", log)
        self.assertIn(f"through {self.one.name}", log)
        details = page(self.one, f"/actors/{KEEPER}?node={self.other.name}")
        self.assertEqual(details["row"]["node"], self.other.name)
        self.assertEqual(details["childSpecification"]["name"], "transition-keeper")

    def test_a_node_that_is_no_member_is_not_asked(self):
        with self.assertRaises(urllib.error.HTTPError) as caught:
            page(self.one, f"/actors/{KEEPER}/restart?node=127.0.0.1:1", "POST")
        self.assertEqual(caught.exception.code, 400)

    def member_of_picture(self, member, other):
        return next(m for m in page(member, "/set")["members"] if m["name"] == other.name)

    def test_the_picture_of_the_set(self):
        with client_of(self.group) as client:
            client.app.get_collection("items", write_concern=pymongo.WriteConcern(w=3)).insert_one({"_id": time.time()})
        picture = page(self.one, "/set")
        self.assertEqual((picture["set"], picture["self"], picture["term"]), ("rs", self.one.name, self.primary.term()))
        self.assertEqual(picture["commitPoint"]["term"], picture["term"])
        self.assertGreater(picture["commitPoint"]["seconds"], 0)
        members = {m["name"]: m for m in picture["members"]}
        self.assertEqual(set(members), self.names)
        leader = members[self.primary.name]
        self.assertEqual((leader["state"], leader["lagSeconds"], leader["syncSource"]), ("PRIMARY", 0, ""))
        self.assertEqual([name for name, m in members.items() if m["self"]], [self.one.name])
        for name, member in members.items():
            self.assertEqual((member["health"], member["votes"], member["arbiter"]), (1, 1, False))
            self.assertIsInstance(member["logWindowSeconds"], int)
            self.assertLess(member["lagSeconds"], 60 * SLOWNESS)
            self.assertEqual(member["pingMillis"] is None, name == self.one.name)
        self.assertTrue(eventually(lambda: self.member_of_picture(self.one, self.one)["syncSource"] in self.names - {self.one.name}))

    def troupe(self, *arguments):
        done = subprocess.run([str(BIN / "troupe"), *arguments, "--uri", f"mongodb://{self.primary.name}"], capture_output=True,
                              text=True, timeout=60 * SLOWNESS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_tree_in_a_terminal(self):
        drawn = self.troupe("tree", "--all")
        for name in self.names:
            self.assertRegex(drawn, rf"{name} +running")
        self.assertIn(self.other.name + "/node/replication/topology", self.troupe("history", "--all", "--moves", "--limit", "0"))


class GuardedTree(unittest.TestCase):
    def test_only_who_may_see_actors_sees_those_of_all(self):
        group = Set(3, "--auth", "--keyFile", key_file(self.addCleanup))
        self.addCleanup(group.__exit__)
        group.__enter__()
        group.members[0].command("replSetInitiate", group.config)
        group.primary().command("createUser", "root", pwd="toor", roles=["root"], writeConcern={"w": "majority"})
        for member in group.members:
            member.login = {"username": "root", "password": "toor"}
        group.have_data()
        primary = group.settled(60)
        primary.command("createUser", "bob", pwd="bob", roles=["readAnyDatabase"], writeConcern={"w": 3})
        self.assertEqual({row["node"] for row in tree(primary)}, {m.name for m in group.members})
        with primary.client(username="bob", password="bob", authSource="admin") as bob:
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                bob.admin.command("actorTree", members=True)
        self.assertEqual(caught.exception.code, UNAUTHORIZED)
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            with primary.client() as stranger:
                stranger.admin.command("transitionLog", members=True)
        self.assertEqual(caught.exception.code, UNAUTHORIZED)
