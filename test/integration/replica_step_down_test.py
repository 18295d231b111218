"""Primaries that step down, because they are asked to or have to, and what they count of it."""
import math
import time
import unittest

import pymongo.errors

from replica_set_support import ELECTION_TIMEOUT_MS, Background, Set
from support import SLOWNESS, eventually

NOT_WRITABLE_PRIMARY, EXCEEDED_TIME_LIMIT, PRIMARY_STEPPED_DOWN = 10107, 262, 189
# How long a conditional step-down waits for others to catch up, in seconds: as long as a test needs to look at it meanwhile, or
# much longer than the bound on what must come earlier.
SHORT_WAIT, LONG_WAIT = math.ceil(5 * SLOWNESS), math.ceil(60 * SLOWNESS)


class Asked(unittest.TestCase):
    """By replSetStepDown and replSetStepUp. One set for all; its election timeout plays no part."""

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3, election_timeout_ms=10_000 * SLOWNESS)
        cls.group.initiate()

    def setUp(self):
        for member in self.group.members:
            member.ask({"replSetMaintenance": 0})
            member.ask({"replSetFreeze": 0})
        self.primary = self.group.settled(60)
        self.others = self.group.others(self.primary)

    def step_down(self, wait, **options):
        """Asks the primary to step down within `wait` seconds, and does not wait for the outcome."""
        return Background(self.primary, {"replSetStepDown": 2 * wait}, secondaryCatchUpPeriodSecs=wait, **options)

    def nobody_catches_up(self):
        """Both others are RECOVERING: neither counts for a majority that has caught up."""
        for other in self.others:
            self.assertEqual(other.ask({"replSetMaintenance": 1})["ok"], 1)
            self.addCleanup(other.ask, {"replSetMaintenance": 0})
            self.assertTrue(eventually(lambda o=other: self.primary.view_of(o)["stateStr"] == "RECOVERING"))

    @staticmethod
    def _write(member):
        with member.raw() as raw:
            return raw.command({"insert": "c", "documents": [{"a": 1}], "writeConcern": {"w": 1}, "$db": "test"}).get("code", 0)

    def test_a_conditional_step_down_that_nobody_can_follow_fails_and_writes_go_on(self):
        self.nobody_catches_up()
        attempt = self.step_down(SHORT_WAIT)
        self.assertTrue(eventually(lambda: not self.primary.hello()["isWritablePrimary"]))
        self.assertEqual(self._write(self.primary), NOT_WRITABLE_PRIMARY, "refused so that others can catch up")
        self.assertEqual(attempt.join()["code"], EXCEEDED_TIME_LIMIT)
        self.assertGreaterEqual(attempt.seconds, SHORT_WAIT)
        self.assertTrue(self.primary.is_primary())
        self.assertEqual(self._write(self.primary), 0)

    def test_by_force_it_steps_down_at_the_deadline(self):
        self.nobody_catches_up()
        attempt = self.step_down(1, force=True)
        self.assertEqual(attempt.join()["ok"], 1)
        self.assertGreaterEqual(attempt.seconds, 1)
        self.assertFalse(self.primary.is_primary())

    def test_a_second_attempt_is_refused_while_the_first_waits(self):
        self.nobody_catches_up()
        first = self.step_down(LONG_WAIT)
        self.assertTrue(eventually(lambda: not self.primary.hello()["isWritablePrimary"]))
        self.assertEqual(self.primary.ask({"replSetStepDown": 30})["codeName"], "ConflictingOperationInProgress")
        self.others[0].ask({"replSetMaintenance": 0})
        self.assertEqual(first.join()["ok"], 1, "and the first one went on")

    def test_a_step_down_without_conditions_overtakes_one_that_waits(self):
        self.nobody_catches_up()
        attempt = self.step_down(LONG_WAIT)
        self.assertTrue(eventually(lambda: not self.primary.hello()["isWritablePrimary"]))
        config = self.primary.command("replSetGetConfig")["config"]
        self.primary.ask({"replSetHeartbeat": "rs"}, term=self.primary.term() + 1, configVersion=config["version"], configTerm=config["term"])
        self.assertEqual(attempt.join()["code"], PRIMARY_STEPPED_DOWN)
        self.assertLess(attempt.seconds, LONG_WAIT / 2)
        self.assertFalse(self.primary.is_primary())
        for other in self.others:
            other.ask({"replSetMaintenance": 0})
        self.others[0].ask({"replSetStepUp": 1})

    def test_it_steps_down_as_soon_as_a_majority_has_caught_up(self):
        self.nobody_catches_up()
        attempt = self.step_down(LONG_WAIT)
        self.assertTrue(eventually(lambda: not self.primary.hello()["isWritablePrimary"]))
        self.others[0].ask({"replSetMaintenance": 0})
        self.assertEqual(attempt.join()["ok"], 1)
        self.assertLess(attempt.seconds, LONG_WAIT / 2, "not only when its time was over")
        self.assertTrue(eventually(lambda: self.others[0].is_primary(), 8), "and it was handed over")

    def test_a_step_up_takes_the_place_of_the_primary(self):
        wanted, term = self.others[0], self.primary.term()
        counted = self.primary.metrics()["electionMetrics"]["numStepDowns"]
        self.assertEqual(wanted.ask({"replSetStepUp": 1})["ok"], 1)
        self.assertTrue(eventually(lambda: wanted.is_primary(), 5))
        self.assertTrue(eventually(lambda: not self.primary.is_primary(), 5))
        self.assertEqual(self.primary.metrics()["electionMetrics"]["numStepDowns"], counted + 1)
        self.assertEqual(self.transition(self.primary)["lastStateTransition"], "stepDown")
        self.assertEqual(self.transition(wanted)["lastStateTransition"], "stepUp")
        self.assertEqual(wanted.term(), term + 1)
        self.assertEqual(wanted.metrics()["electionMetrics"]["stepUpCmd"]["successful"] >= 1, True)
        self.assertEqual(wanted.status()["electionCandidateMetrics"]["electionTerm"], term + 1)

    def test_who_may_not_stand_does_not_step_up(self):
        frozen = self.others[0]
        self.assertEqual(frozen.ask({"replSetFreeze": 60})["ok"], 1)
        self.assertEqual(frozen.ask({"replSetStepUp": 1})["codeName"], "CommandFailed")
        self.assertEqual(self.primary.ask({"replSetFreeze": 60})["codeName"], "NotSecondary")
        self.assertTrue(self.primary.is_primary())
        self.assertEqual(frozen.ask({"replSetFreeze": 0})["ok"], 1)
        self.assertEqual(frozen.ask({"replSetStepUp": 1})["ok"], 1)

    def test_a_handoff_goes_to_the_next_best_when_one_may_not_stand(self):  # ELE-005
        for frozen in self.others:  # whichever of them is asked first
            heir = next(o for o in self.group.others(self.primary) if o is not frozen)
            self.assertEqual(frozen.ask({"replSetFreeze": 60})["ok"], 1)
            begun = time.monotonic()
            self.assertEqual(self.primary.ask({"replSetStepDown": 30})["ok"], 1)
            self.assertTrue(eventually(heir.is_primary, 8), "and not after an election timeout")
            print(f"      a handoff past a frozen member took {time.monotonic() - begun:.2f} s", flush=True)
            self.assertEqual(frozen.ask({"replSetFreeze": 0})["ok"], 1)
            self.assertEqual(self.primary.ask({"replSetFreeze": 0})["ok"], 1)
            self.assertTrue(eventually(lambda: self.group.settled() is heir))
            self.primary.ask({"replSetStepUp": 1})
            self.assertTrue(eventually(self.primary.is_primary, 8))
            self.assertIs(self.group.settled(), self.primary)

    def test_a_handoff_skips_the_dry_run(self):
        asked = sum(o.metrics()["electionMetrics"]["stepUpCmd"]["called"] for o in self.others)
        timeouts = sum(o.metrics()["electionMetrics"]["electionTimeout"]["called"] for o in self.others)
        self.assertEqual(self.primary.ask({"replSetStepDown": 30})["ok"], 1)
        begun = time.monotonic()
        self.assertTrue(eventually(lambda: any(o.is_primary() for o in self.others), 8))
        self.assertLess(time.monotonic() - begun, 5 * SLOWNESS, "half the election timeout")
        self.assertEqual(sum(o.metrics()["electionMetrics"]["stepUpCmd"]["called"] for o in self.others), asked + 1)
        self.assertEqual(sum(o.metrics()["electionMetrics"]["electionTimeout"]["called"] for o in self.others), timeouts)
        winner = next(o for o in self.others if o.is_primary())
        self.assertEqual(winner.status()["electionCandidateMetrics"]["lastElectionReason"], "stepUpRequestSkipDryRun")

    def interrupted_update(self, database):
        """An update within its body when its primary steps down: it has read documents and yielded, and has many more to change, some
        milliseconds each. Returns how many it has changed."""
        documents = 5_000
        for first in range(0, documents, 1_000):
            inserted = self.primary.ask({"insert": "slow"}, db=database, documents=[{"_id": first + i} for i in range(1_000)])
            self.assertEqual(inserted["n"], 1_000, inserted)
        change = [{"$set": {"x": {"$sum": {"$range": ["$_id", {"$add": ["$_id", 20_000]}]}}}}]
        write = Background(self.primary, {"update": "slow"}, db=database, updates=[{"q": {}, "u": change, "multi": True}])

        def yielded():
            inprog = self.primary.command("currentOp")["inprog"]
            return any("update" in op.get("command", {}) and op.get("numYields", 0) > 0 for op in inprog)
        self.assertTrue(eventually(yielded, 30), f"it is not within its body: {write.reply}")
        self.assertEqual(self.primary.ask({"replSetStepDown": 30})["ok"], 1)
        reply = write.join()
        self.assertEqual((reply["ok"], reply.get("code")), (0, 11602), str(reply)[:300])
        self.assertNotIn("writeErrors", reply, "the command was interrupted, not one of its statements")
        changed = self.changed_in(self.primary, database)
        self.assertGreater(changed, 0)
        self.assertLess(changed, documents, "the rest was left as it was")
        return changed

    @staticmethod
    def changed_in(member, database):
        return member.ask({"count": "slow"}, db=database, query={"x": {"$exists": True}}, **{"$readPreference": {"mode": "nearest"}})["n"]

    @staticmethod
    def transition(member):
        return member.metrics()["metrics"]["repl"]["stateTransition"]

    def waiting_read(self):
        """The getMore of a tail that waits for a document of a collection which every member has for itself."""
        self.assertEqual(self.primary.ask({"create": "tailed"}, db="local", capped=True, size=10_000)["ok"], 1)
        self.assertEqual(self.primary.ask({"insert": "tailed"}, db="local", documents=[{"_id": 0}])["ok"], 1)
        cursor = self.primary.ask({"find": "tailed"}, db="local", tailable=True, awaitData=True)["cursor"]
        read = Background(self.primary, {"getMore": cursor["id"]}, db="local", collection="tailed", maxTimeMS=int(60_000 * SLOWNESS))

        def waits():
            inprog = self.primary.command("currentOp")["inprog"]
            return any(op.get("command", {}).get("collection") == "tailed" for op in inprog)
        self.assertTrue(eventually(waits), f"it waits for no document: {read.reply}")
        return read

    def test_operations_that_began_under_the_old_role_are_interrupted(self):  # ELE-036: and are counted, like those that go on
        read = self.waiting_read()
        self.interrupted_update("local")
        transition = self.transition(self.primary)
        self.assertEqual((transition["lastStateTransition"], transition["totalOperationsKilled"]), ("stepDown", 1))
        left = transition["totalOperationsRunning"]
        self.assertGreaterEqual(left, 2, "the read, and the command that asked for the step-down")
        self.assertEqual(self.primary.log_lines(21340)[-1]["attr"], {"killed": 1, "left": left})
        self.assertEqual(self.primary.ask({"insert": "tailed"}, db="local", documents=[{"_id": 1}])["ok"], 1)
        self.assertEqual(read.join()["cursor"]["nextBatch"], [{"_id": 1}])

    def test_nothing_of_an_interrupted_update_is_written_after_its_term(self):  # ELE-028
        term = self.primary.term()
        changed = self.interrupted_update("slow")
        leader = self.group.settled(60)
        self.assertIsNot(leader, self.primary)
        marked = leader.ask({"insert": "mark"}, db="slow", documents=[{"_id": 1}], writeConcern={"w": 3, "wtimeout": 60_000})
        self.assertEqual((marked["ok"], "writeConcernError" in marked), (1, False), marked)
        for member in self.group.members:
            self.assertEqual(self.changed_in(member, "slow"), changed, "neither lost nor more")
            with member.client() as client:
                logged = client.local["oplog.rs"].aggregate([{"$match": {"op": "u", "ns": "slow.slow"}}, {"$group": {"_id": "$t", "n": {"$sum": 1}}}])
                self.assertEqual(list(logged), [{"_id": term, "n": changed}], member.name)


class RareHeartbeats(unittest.TestCase):
    def test_a_winner_announces_itself_at_once(self):
        with Set(3, election_timeout_ms=60_000 * SLOWNESS) as group:
            group.config["settings"]["heartbeatIntervalMillis"] = int(10_000 * SLOWNESS)
            first = group.members[0]
            first.command("replSetInitiate", group.config)
            self.assertTrue(eventually(lambda: first.ask({"replSetStepUp": 1})["ok"] == 1))  # long before the election timeout
            group.have_data(60)
            wanted = group.others(group.settled(60))[0]
            self.assertEqual(wanted.ask({"replSetStepUp": 1})["ok"], 1)
            begun = time.monotonic()
            for member in group.members:
                self.assertTrue(eventually(lambda m=member: m.hello().get("primary") == wanted.name, 60))
            self.assertLess(time.monotonic() - begun, 3 * SLOWNESS, "heartbeats of the usual round come every 10 s")


class Forced(unittest.TestCase):
    """By what others say, or by nobody answering; with short timeouts, and a set for each."""

    def test_without_handoff_the_set_waits_for_the_election_timeout(self):
        with Set(3, "--setParameter", "enableElectionHandoff=false") as group:
            first = group.initiate()
            group.settled()
            term = first.term()
            self.assertEqual(first.ask({"replSetStepDown": 30})["ok"], 1)
            begun = time.monotonic()
            second = group.primary()
            self.assertIsNot(second, first)
            self.assertGreater(time.monotonic() - begun, 0.4 * ELECTION_TIMEOUT_MS / 1000)
            self.assertGreater(second.term(), term)
            self.assertGreaterEqual(second.metrics()["electionMetrics"]["electionTimeout"]["successful"], 1)

    def test_a_config_without_the_primary_ends_it(self):
        with Set(3) as group:
            group.initiate()
            first = group.settled()
            second = group.others(first)[0]

            def remove(config):
                config["members"] = [m for m in config["members"] if m["host"] != first.name]
            self.assertEqual(group.reconfigure(remove, second, force=True)["ok"], 1)
            self.assertTrue(eventually(lambda: any(m.is_primary() for m in group.others(first))))
            self.assertTrue(eventually(lambda: not first.is_primary()))
            self.assertTrue(eventually(lambda: "removed" in first.hello().get("info", "")), first.hello())
            status = first.ask("replSetGetStatus")
            self.assertEqual((status["ok"], status["code"], status["state"], status["stateStr"]), (0, 93, 10, "REMOVED"), status)
            self.assertIn("not a member", status["errmsg"])

    def test_a_config_that_demotes_the_primary_ends_it(self):
        with Set(3) as group:
            group.initiate()
            first = group.settled()
            second = group.others(first)[0]

            def demote(config):
                next(m for m in config["members"] if m["host"] == first.name)["priority"] = 0
            self.assertEqual(group.reconfigure(demote, second, force=True)["ok"], 1)
            self.assertTrue(eventually(lambda: any(m.is_primary() for m in group.others(first))))
            self.assertTrue(eventually(lambda: first.hello()["secondary"]), first.hello())


if __name__ == "__main__":
    unittest.main()
