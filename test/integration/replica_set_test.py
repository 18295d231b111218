"""Replica sets of real processes: they elect, fail over, step down, and say so."""
import datetime
import os
import time
import unittest

import pymongo.errors
from pymongo import WriteConcern

from replica_set_support import ELECTION_TIMEOUT_MS, Member, Set, client_of
from support import SLOWNESS, eventually

# How often the primary is killed; the figure of the closing note is measured with 20.
TRIALS = int(os.environ.get("TROUPE_TEST_FAILOVERS", "5"))


class Elections(unittest.TestCase):
    def test_three_members_elect_and_report(self):
        with Set() as group:
            primary = group.initiate()
            for member in group.members:
                self.assertTrue(eventually(lambda m=member: m.hello().get("primary") == primary.name), member.log_tail())
                hello = member.hello()
                self.assertEqual(hello["setName"], "rs")
                self.assertEqual(sorted(hello["hosts"]), sorted(m.name for m in group.members))
                self.assertEqual(hello["me"], member.name)
                self.assertEqual(hello["secondary"], member is not primary)
            self.assertEqual(str(primary.hello()["electionId"])[:8], "7fffffff")
            self.assertTrue(eventually(lambda: all(m["health"] == 1 for m in primary.status()["members"])))
            states = sorted(m["stateStr"] for m in primary.status()["members"])
            self.assertEqual(states, ["PRIMARY", "SECONDARY", "SECONDARY"])
            config = primary.command("replSetGetConfig")["config"]
            self.assertEqual([m["host"] for m in config["members"]], [m.name for m in group.members])
            with primary.client() as client:
                rows = client.admin.command("actorTree", filter={"under": "/node/replication"}, cursor={})["cursor"]["firstBatch"]
            topology = [row for row in rows if row["path"] == "/node/replication/topology"]
            self.assertEqual([row["phase"] for row in topology], ["primary"])

    def test_a_driver_finds_the_primary_and_its_successor(self):
        with Set() as group:
            first = group.initiate()
            with client_of(group) as client:
                self.assertTrue(eventually(lambda: client.primary == ("127.0.0.1", first.port)))
                first.kill()
                second = group.primary()
                self.assertTrue(eventually(lambda: client.primary == ("127.0.0.1", second.port)), client.topology_description)

    def test_a_step_down_hands_over_far_below_the_election_timeout(self):
        with Set() as group:
            group.config["settings"]["electionTimeoutMillis"] = int(10_000 * SLOWNESS)
            group.config["settings"]["heartbeatIntervalMillis"] = 500
            first = group.initiate()
            self.assertTrue(eventually(lambda: all(m["health"] == 1 for m in first.status()["members"])))
            begun = time.monotonic()
            first.command("replSetStepDown", 60)
            self.assertTrue(eventually(lambda: any(m.is_primary() for m in group.others(first)), 5))
            self.assertLess(time.monotonic() - begun, 5 * SLOWNESS)
            self.assertFalse(first.hello()["isWritablePrimary"])

    def test_an_orderly_stop_of_the_primary_hands_over(self):  # BOOT-005
        """The others would elect somebody soon in any case, for they are refused connections; so the reason of the election is what counts."""
        with Set() as group:
            group.config["settings"]["electionTimeoutMillis"] = int(10_000 * SLOWNESS)
            group.config["settings"]["heartbeatIntervalMillis"] = 500
            group.initiate()
            first = group.settled(60)
            others = group.others(first)

            def elections():
                figures = [other.metrics()["electionMetrics"] for other in others]
                return [sum(f[reason]["called"] for f in figures) for reason in ("stepUpCmd", "electionTimeout")]
            asked, timeouts = elections()
            self.assertEqual(first.stop(), 0)
            self.assertEqual([line["attr"]["outcome"] for line in first.log_lines(21344)], ["OK"], first.log_tail(30))
            self.assertTrue(eventually(lambda: any(m.is_primary() for m in others), 5))
            self.assertEqual(elections(), [asked + 1, timeouts])

    def test_votes_and_config_survive_a_restart_of_all(self):
        with Set() as group:
            group.initiate()
            term = group.primary().status()["term"]
            for member in group.members:
                member.kill()
            for member in group.members:
                member.start()
            self.assertGreater(group.primary().status()["term"], term)

    def test_a_set_of_one_elects_itself(self):
        with Set(1) as group:
            group.members[0].command("replSetInitiate")
            self.assertEqual(group.primary(10).hello()["hosts"], [group.members[0].name])

    def test_a_dead_member_beside_an_arbiter_loses_its_vote(self):  # what lag of the commit point is mended with
        with Set(3, m2={"arbiterOnly": True}) as group:
            group.initiate()
            group.have_data()
            primary = group.settled()
            dead = next(m for m in group.others(primary) if not m.hello().get("arbiterOnly"))
            with primary.client() as client:
                client.app.items.with_options(write_concern=WriteConcern("majority")).insert_one({"_id": 1})
                written = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
                # A heartbeat has told the primary that it has it.
                self.assertTrue(eventually(lambda: primary.view_of(dead)["lastHeartbeatRecv"].replace(tzinfo=None) > written))
                dead.kill()
                client.app.items.with_options(write_concern=WriteConcern(1)).insert_many({"_id": i} for i in range(2, 50))

                def takes_its_vote(config):
                    member = next(m for m in config["members"] if m["host"] == dead.name)
                    member["votes"], member["priority"] = 0, 0
                self.assertTrue(eventually(lambda: primary.view_of(dead)["health"] == 0))
                time.sleep(3 * ELECTION_TIMEOUT_MS / 1000)  # nobody hears of it any more
                group.reconfigure(takes_its_vote, primary)
                majority = client.app.items.with_options(write_concern=WriteConcern("majority", wtimeout=10_000))
                majority.insert_one({"_id": 50})

    def test_a_change_that_waits_in_vain_says_for_whom(self):
        with Set(3, m2={"arbiterOnly": True}) as group:
            group.initiate()
            group.have_data()
            dead = group.settled()
            dead.kill()
            primary = group.primary()
            config = primary.command("replSetGetConfig")["config"]
            config["version"] += 10
            member = next(m for m in config["members"] if m["host"] == dead.name)
            member["votes"], member["priority"] = 0, 0
            refused = primary.ask({"replSetReconfig": config, "maxTimeMS": int(2000 * SLOWNESS)})
            self.assertEqual((refused.get("code"), refused.get("codeName")), (308, "CurrentConfigNotCommittedYet"), refused)
            self.assertIn(dead.name, refused["errmsg"])
            dead.start()
            self.assertTrue(eventually(lambda: primary.view_of(dead)["stateStr"] == "SECONDARY"), dead.log_tail())
            self.assertTrue(all(m["votes"] == 1 for m in primary.command("replSetGetConfig")["config"]["members"]), "nothing was changed")
            primary.command("replSetReconfig", config)

    def test_an_arbiter_votes_and_never_leads(self):
        with Set(3, m2={"arbiterOnly": True}) as group:
            first = group.initiate()
            arbiter = group.members[2]
            self.assertIsNot(first, arbiter)
            self.assertTrue(eventually(lambda: arbiter.hello().get("arbiterOnly")), arbiter.log_tail())
            for mode in ("primary", "secondaryPreferred"):
                reply = arbiter.ask({"find": "items", "$readPreference": {"mode": mode}}, db="app")
                self.assertEqual((reply["code"], reply["codeName"]), (13436, "NotPrimaryOrSecondary"), mode)
            with first.client() as client:
                client.app.items.insert_one({})
            written = first.status()["optimes"]["appliedOpTime"]
            self.assertTrue(eventually(lambda: arbiter.status()["optimes"]["lastCommittedOpTime"] == written), "it hears what is committed")
            first.kill()
            self.assertIsNot(group.primary(), arbiter)
            self.assertEqual(arbiter.hello()["arbiterOnly"], True)

    def test_the_highest_priority_takes_over(self):
        with Set(3, m1={"priority": 5}) as group:
            group.initiate()
            self.assertTrue(eventually(lambda: group.members[1].is_primary(), 60))

    def test_a_reconfig_reaches_all(self):
        with Set() as group:
            primary = group.initiate()
            config = primary.command("replSetGetConfig")["config"]
            config["version"] += 1
            config["members"][0]["tags"] = {"rack": "a"}
            primary.command("replSetReconfig", config)
            for member in group.members:
                self.assertTrue(eventually(lambda m=member: m.hello()["setVersion"] == config["version"]), member.log_tail())

    def test_a_lone_survivor_steps_down_and_does_not_raise_the_term(self):
        with Set() as group:
            primary = group.initiate()
            term = primary.status()["term"]
            for other in group.others(primary):
                other.kill()
            self.assertTrue(eventually(lambda: not primary.is_primary()))
            stood = lambda: primary.metrics()["electionMetrics"]["electionTimeout"]["called"]
            before = stood()
            self.assertTrue(eventually(lambda: stood() > before), "it does not even try")
            self.assertEqual(primary.status()["term"], term)


class Failover(unittest.TestCase):
    ALONE = "measures how long a set is without a primary"

    def test_a_killed_primary_is_replaced_within_half_an_election_timeout_more(self):
        with Set() as group:
            group.initiate()
            taken = []
            for _ in range(TRIALS):
                primary = group.primary()
                term = primary.status()["term"]
                self.assertTrue(eventually(lambda: all(m.hello().get("primary") == primary.name for m in group.members)))
                time.sleep(0.3 * SLOWNESS)  # somewhere between two heartbeats
                rest = group.others(primary)
                primary.kill()
                killed = time.monotonic()
                while not any(m.hello()["isWritablePrimary"] for m in rest):
                    self.assertLess(time.monotonic() - killed, 30 * SLOWNESS, "no successor")
                taken.append(time.monotonic() - killed)
                self.assertGreater(group.primary().status()["term"], term)
                primary.start()
                self.assertTrue(eventually(lambda: primary.hello()["secondary"]), primary.log_tail())
            print(f"      failover in {TRIALS} trials: {min(taken):.2f} to {max(taken):.2f} s", flush=True)
            # A member that is refused a connection by the primary does not wait for the election timeout.
            self.assertLess(sorted(taken)[len(taken) // 2], ELECTION_TIMEOUT_MS / 1000)


class Refusals(unittest.TestCase):
    def test_what_a_member_refuses(self):
        with Set() as group:
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                group.members[0].status()
            self.assertEqual(caught.exception.code, 94)
            primary = group.initiate()
            secondary = group.others(primary)[0]
            for member, code in ((secondary, 10107),):
                with member.raw() as raw:
                    reply = raw.command({"insert": "c", "documents": [{"a": 1}], "$db": "test"})
                    self.assertEqual(reply["code"], code, reply)
                    for write in ({"$out": "d"}, {"$merge": "d"}):
                        reply = raw.command({"aggregate": "c", "pipeline": [write], "cursor": {}, "$db": "test",
                                             "$readPreference": {"mode": "nearest"}})
                        self.assertEqual(reply["code"], code, reply)
                    reply = raw.command({"validate": "c", "repair": True, "$db": "test", "$readPreference": {"mode": "nearest"}})
                    self.assertEqual(reply["code"], code, reply)
                    reply = raw.command({"insert": "c", "documents": [{"a": 1}], "$db": "local"})
                    self.assertEqual(reply["ok"], 1, reply)
            with secondary.raw() as raw:
                self.assertEqual(raw.command({"find": "c", "$db": "test"})["code"], 13435)
                found = raw.command({"find": "c", "$db": "test", "$readPreference": {"mode": "secondary"}})
                self.assertEqual(found["ok"], 1)
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                primary.command("replSetInitiate", group.config)
            self.assertEqual(caught.exception.code, 23)

    def test_a_config_that_does_not_fit_is_refused(self):
        with Set(1) as group:
            member = group.members[0]
            for config, code in (({"_id": "other", "members": [{"_id": 0, "host": member.name}]}, 93),
                                 ({"_id": "rs", "members": [{"_id": 0, "host": "127.0.0.1:1"}]}, 93),
                                 ({"_id": "rs", "members": []}, 93)):
                with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                    member.command("replSetInitiate", config)
                self.assertEqual(caught.exception.code, code, config)

    def test_a_member_with_a_key_does_not_join_a_set_without_one(self):
        with Set(1) as group:
            key = group.members[0].folder / "key"
            key.write_text("c" * 64)
            key.chmod(0o600)
            stranger = Member("--keyFile", str(key))
            self.addCleanup(stranger.discard)
            stranger.start()
            group.config["members"].append({"_id": 1, "host": stranger.name})
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                group.members[0].command("replSetInitiate", group.config)
            self.assertIn("did not answer", str(caught.exception))
            self.assertIn("asks for the cluster's key", str(group.members[0].ask({"linkPing": stranger.name})))


if __name__ == "__main__":
    unittest.main()
