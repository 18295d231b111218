"""Who may become a member of a set: nodes without data, and the one whose data the set is given."""
import time
import unittest

import pymongo
import pymongo.errors

from replica_set_support import MAJORITY, Member, Set, documents_of
from support import SLOWNESS, Server, eventually, free_port

NODE_NOT_FOUND, CANNOT_FOLLOW, NODE_WITH_DATA = 74, 103, 110
REFUSED, REFUSED_NO_LONGER = 21282, 21283  # of the log


class JoiningTest(unittest.TestCase):
    def grown(self, *options):
        """A node that has served alone, and is now started for a set."""
        member = Member(*options)
        self.addCleanup(member.discard)
        with Server(dbpath=member.dbpath) as alone:
            with alone.client() as client:
                client.app.items.insert_one({"_id": "its own"})
            self.assertEqual(alone.stop(), 0)
        return member

    def assert_kept(self, member):
        self.assertEqual(member.stop(), 0)
        with Server(dbpath=member.dbpath) as alone, alone.client() as client:
            self.assertEqual(client.app.items.find_one(), {"_id": "its own"})

    def assert_refused(self, group, change, why):
        before = group.primary().command("replSetGetConfig")["config"]
        with self.assertRaises(pymongo.errors.OperationFailure) as refused:
            group.reconfigure(change)
        self.assertEqual(refused.exception.code, CANNOT_FOLLOW)
        self.assertIn(why, str(refused.exception))
        self.assertEqual(group.primary().command("replSetGetConfig")["config"]["members"], before["members"])

    def test_a_reconfig_that_would_leave_no_primary_is_not_installed(self):
        """A name that is mistyped, of the second member."""
        with Set(1) as group:
            primary = group.initiate()
            nobody = f"127.0.0.1:{free_port()}"

            def add(config):
                config["members"].append({"_id": 1, "host": nobody})
                config["settings"]["heartbeatTimeoutSecs"] = 2
            with self.assertRaises(pymongo.errors.OperationFailure) as refused:
                group.reconfigure(add)
            self.assertEqual(refused.exception.code, NODE_NOT_FOUND)
            self.assertIn(nobody, str(refused.exception))
            self.assertEqual(len(primary.command("replSetGetConfig")["config"]["members"]), 1)
            with primary.client() as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "the set has a primary"})

    def test_another_member_with_data_is_refused_and_keeps_them(self):
        other = self.grown().start()
        with Set(1) as group:
            first = group.members[0]
            config = {**group.config, "members": [*group.config["members"], {"_id": 1, "host": other.name}]}
            with self.assertRaises(pymongo.errors.OperationFailure) as refused:
                first.command("replSetInitiate", config)
            self.assertEqual(refused.exception.code, NODE_WITH_DATA)
            self.assertIn(other.name, str(refused.exception))
            self.assertEqual(first.ask("replSetGetStatus")["codeName"], "NotYetInitialized")
            self.assert_kept(other)

    def test_a_node_with_data_that_is_added_stays_outside(self):
        other = self.grown().start()
        with Set(1) as group:
            primary = group.initiate()

            def add(config):
                config["members"].append({"_id": 1, "host": other.name, "priority": 0, "votes": 0})
            self.assert_refused(group, add, "has data of its own")
            group.reconfigure(add, force=True)
            sent = primary.view_of(other)["lastHeartbeat"]
            self.assertTrue(eventually(lambda: (primary.view_of(other)["lastHeartbeat"] - sent).total_seconds() > 2))
            self.assertEqual(other.ask("replSetGetStatus")["codeName"], "NotYetInitialized")
            self.assertIn("has data of its own", primary.view_of(other)["lastHeartbeatMessage"])
            self.assertIn("This node holds data", other.log())
            self.assert_kept(other)

    def test_a_node_of_another_set_is_named_in_status_and_log(self):
        stranger = Member()
        self.addCleanup(stranger.discard)
        stranger.options[stranger.options.index("rs")] = "other"
        stranger.start()
        with Set(1) as group:
            primary = group.initiate()
            wanted = f"{stranger.name} is in the set other, not in rs"

            def add(config):
                config["members"].append({"_id": 1, "host": stranger.name, "priority": 0, "votes": 0})
            self.assert_refused(group, add, wanted)
            group.reconfigure(add, force=True)
            self.assertTrue(eventually(lambda: wanted in primary.view_of(stranger)["lastHeartbeatMessage"]), primary.view_of(stranger))
            refused, = primary.log_lines(REFUSED)
            self.assertEqual((refused["s"], refused["attr"]["host"]), ("W", stranger.name))
            self.assertIn(wanted, refused["attr"]["refusal"])
            self.assertEqual(primary.log_lines(REFUSED_NO_LONGER), [])
            self.assertEqual(stranger.stop(), 0)
            stranger.wipe()
            stranger.options[stranger.options.index("other")] = "rs"
            stranger.start()
            self.assertTrue(eventually(lambda: primary.view_of(stranger)["stateStr"] == "SECONDARY", 60), primary.view_of(stranger))
            self.assertEqual(primary.view_of(stranger)["lastHeartbeatMessage"], "")
            self.assertEqual(len(primary.log_lines(REFUSED_NO_LONGER)), 1)

    def assert_stays_outside(self, stranger, group, primary, seconds):
        """For so long nobody of the set is led, fed or ended by the stranger, whose term is later and whose log is longer."""
        term, its_term = primary.term(), stranger.term()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            with primary.client() as client:
                client.app.items.insert_one({})
            for member in group.members:
                self.assertTrue(member.running(), member.log_tail())
                status = member.status()
                self.assertEqual((status["term"], member.hello()["primary"]), (term, primary.name), member.log_tail())
                self.assertNotEqual(status["syncSourceHost"], stranger.name)
                shown = next(m for m in status["members"] if m["name"] == stranger.name)
                self.assertNotIn(shown["stateStr"], ("PRIMARY", "SECONDARY"))
            time.sleep(0.1)
        self.assertEqual(stranger.term(), its_term)

    def test_a_node_that_was_initiated_as_a_set_of_its_own_stays_outside(self):
        timeout = 2 * SLOWNESS
        stranger = Member()
        self.addCleanup(stranger.discard)
        stranger.start()
        stranger.command("replSetInitiate", {"_id": "rs", "members": [{"_id": 0, "host": stranger.name}]})
        for _ in range(6):  # each start begins a term
            self.assertTrue(eventually(stranger.is_primary), stranger.log_tail())
            stranger.kill()
            stranger.start()
        self.assertTrue(eventually(stranger.is_primary), stranger.log_tail())
        with Set(3, election_timeout_ms=1000 * timeout) as group:
            group.initiate()
            primary = group.settled()
            with stranger.client() as client:
                client.app.items.insert_many([{"its own": i} for i in range(100)])
            self.assertGreater(stranger.term(), primary.term())
            identities = [m.command("replSetGetConfig")["config"]["settings"]["replicaSetId"] for m in (stranger, primary)]
            wanted = f"{stranger.name} is in another set, that is named rs, too: its replicaSetId is {identities[0]}, not {identities[1]}"
            for votes in (0, 1):
                with self.subTest(votes=votes):
                    entry = {"_id": 3, "host": stranger.name, "priority": 0, "votes": votes}

                    def add(config, entry=entry):
                        config.update(members=[*config["members"][:3], entry])
                    if votes == 0:
                        self.assert_refused(group, add, wanted)
                    group.reconfigure(add, primary, force=True)
                    for member in group.members:
                        self.assertTrue(eventually(lambda: wanted in member.view_of(stranger)["lastHeartbeatMessage"]), member.status())
                        self.assertTrue(eventually(lambda: member.view_of(stranger)["health"] == 0), member.status())
                    self.assert_stays_outside(stranger, group, primary, 3 * timeout)
            # An operator may force each into the other's config: then the stranger sends heartbeats, too.
            own = stranger.command("replSetGetConfig")["config"]
            own["version"] += 1
            own["members"].append({"_id": 1, "host": primary.name, "priority": 0, "votes": 0})
            stranger.command("replSetReconfig", own, force=True)
            reverse = f"{primary.name} is in another set, that is named rs, too: its replicaSetId is {identities[1]}, not {identities[0]}"
            self.assertTrue(eventually(lambda: reverse in stranger.view_of(primary)["lastHeartbeatMessage"]), stranger.status())
            self.assert_stays_outside(stranger, group, primary, 3 * timeout)
            refusals = [line["attr"]["refusal"] for line in primary.log_lines(REFUSED)]
            self.assertTrue(refusals and all(wanted in refusal for refusal in refusals), refusals)
            stranger.kill()
            stranger.wipe()
            stranger.start()
            self.assertTrue(eventually(lambda: primary.view_of(stranger)["stateStr"] == "SECONDARY", 60), primary.view_of(stranger))
            self.assertEqual(primary.view_of(stranger)["lastHeartbeatMessage"], "")
            self.assertTrue(eventually(lambda: "its own" not in str(documents_of(stranger)) and len(documents_of(stranger)) > 0))

    def test_the_data_of_the_node_that_is_given_the_config_are_those_of_the_set(self):
        with Set(2) as group:
            first = group.members[0]
            first.kill()
            with Server(dbpath=first.dbpath) as alone:
                with alone.client() as client:
                    client.app.items.insert_one({"_id": "its own"})
                self.assertEqual(alone.stop(), 0)
            first.start()
            group.initiate()
            for member in group.members:
                with member.client(readPreference="secondaryPreferred") as client:
                    self.assertEqual(client.app.items.find_one(), {"_id": "its own"}, member.name)

    def test_a_secondary_is_copied_from_while_there_is_no_primary(self):
        with Set(3, m1={"priority": 0}) as group:
            primary = group.initiate()
            first, second, third = group.members
            self.assertIs(primary, first)
            with primary.client(retryWrites=False) as client:
                client.app.get_collection("items", write_concern=pymongo.WriteConcern(3)).insert_one({"_id": 1})
            third.kill()
            third.wipe()
            first.kill()
            third.start()
            self.assertTrue(eventually(lambda: third.hello()["secondary"] or third.is_primary(), 60), third.log_tail())
            attempts = third.command("replSetGetStatus", initialSync=1)["initialSyncStatus"]["initialSyncAttempts"]
            self.assertEqual([(a["syncSource"], a["status"]) for a in attempts], [(second.name, "OK")])


if __name__ == "__main__":
    unittest.main()
