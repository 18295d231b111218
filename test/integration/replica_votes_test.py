"""Votes and heartbeats of live members, asked with the commands that say what members say to each other."""
import unittest

import bson

from replica_set_support import Set
from support import SLOWNESS, eventually


class Asking(unittest.TestCase):
    """One set for all of them. Its primary is the first member, for nobody else may be."""

    @classmethod
    def setUpClass(cls):
        cls.group = Set.of_class(cls, 3, election_timeout_ms=5000 * SLOWNESS, m0={"priority": 5}, m1={"priority": 1}, m2={"priority": 1})
        cls.group.initiate()
        if not eventually(lambda: cls.group.members[0].is_primary(), 60):
            raise AssertionError("the highest priority does not lead")

    def setUp(self):
        self.primary = self.group.members[0]
        self.assertTrue(eventually(lambda: self.primary.is_primary(), 60))
        self.group.settled(60)
        self.voter = self.group.members[1]
        self.config = self.primary.command("replSetGetConfig")["config"]
        self.term = self.primary.term()

    def vote(self, member=None, **changed):
        """What a member answers to the third one, which asks in a dry run of the present term if nothing else is said."""
        asked = {"setName": "rs", "term": self.term, "candidateIndex": 2, "dryRun": True, "configVersion": self.config["version"],
                 "configTerm": self.config["term"], "lastAppliedOpTime": {"ts": bson.Timestamp(2**31, 0), "t": self.term}, **changed}
        reply = (member or self.voter).ask("replSetRequestVotes", **asked)
        self.assertEqual(reply["ok"], 1, reply)
        return reply

    def heartbeat(self, member, **changed):
        told = {"configVersion": self.config["version"], "configTerm": self.config["term"], "from": "", "term": self.term, **changed}
        name = told.pop("set", "rs")
        return member.ask({"replSetHeartbeat": name}, **told)

    def assertRefused(self, reply, reason):
        self.assertFalse(reply["voteGranted"], reply)
        self.assertIn(reason, reply["reason"])

    def test_a_dry_run_is_granted_and_leaves_no_trace(self):
        self.assertTrue(self.vote()["voteGranted"])
        self.assertEqual(self.voter.term(), self.term)
        self.assertEqual(self.primary.term(), self.term)

    def test_no_vote_across_configs(self):
        self.assertRefused(self.vote(configVersion=self.config["version"] + 1), "config")
        self.assertRefused(self.vote(configTerm=self.config["term"] + 1), "config")

    def test_no_vote_across_sets(self):
        reply = self.vote(setName="other", term=self.term + 100)
        self.assertRefused(reply, "set")
        self.assertEqual(self.voter.term(), self.term, "a stranger's term is none of ours")

    def test_no_vote_for_older_data(self):
        self.assertRefused(self.vote(lastAppliedOpTime={"ts": bson.Timestamp(0, 0), "t": -1}), "data is older")

    def test_no_vote_for_a_candidate_of_an_older_term(self):
        self.assertRefused(self.vote(term=self.term - 1), "older than mine")

    def test_a_voter_raises_its_term_first_and_the_primary_steps_down(self):
        later = self.term + 3
        reply = self.vote(term=later, configVersion=self.config["version"] + 1)
        self.assertRefused(reply, "config")
        self.assertEqual(reply["term"], later, "its own term comes from the request before anything else")
        self.assertTrue(eventually(lambda: self.primary.term() >= later), "a heartbeat's metadata brings it to the primary")
        self.assertTrue(eventually(lambda: self.group.primary().term() > later))

    def test_one_vote_in_a_term_also_after_a_crash(self):  # ELE-015
        """The others are down: an election of theirs would begin a later term, in which the vote says nothing."""
        for other in self.group.others(self.voter):
            other.kill()
            self.addCleanup(other.start)
        later = self.term + 1
        refusal = f"I have voted for {self.group.members[2].name} in term {later}"
        self.assertTrue(self.vote(term=later, dryRun=False)["voteGranted"])
        self.assertRefused(self.vote(term=later, dryRun=False, candidateIndex=0), refusal)
        self.voter.kill()
        self.voter.start()
        self.assertTrue(eventually(lambda: self.voter.ask("replSetGetStatus")["ok"] == 1))
        self.assertRefused(self.vote(term=later, dryRun=False, candidateIndex=0), refusal)
        self.assertTrue(self.vote(term=later, dryRun=False)["voteGranted"], "the same candidate may ask again")

    def test_a_heartbeat_of_another_set_is_refused(self):
        reply = self.heartbeat(self.voter, set="other", term=self.term + 50)
        self.assertEqual((reply["ok"], reply["codeName"]), (0, "InconsistentReplicaSetNames"))
        self.assertEqual(self.voter.term(), self.term)

    def test_an_answer_says_what_the_member_is_and_has(self):
        reply = self.heartbeat(self.voter)
        self.assertEqual((reply["set"], reply["term"], reply["state"]), ("rs", self.term, 2))
        self.assertEqual((reply["v"], reply["configTerm"]), (self.config["version"], self.config["term"]))
        self.assertEqual(reply["primary"], self.primary.name)
        self.assertTrue(eventually(lambda: self.heartbeat(self.voter)["durableOpTime"] == self.heartbeat(self.voter)["opTime"]))
        self.assertEqual(sorted(reply["opTime"]), ["t", "ts"])
        self.assertTrue(eventually(lambda: self.heartbeat(self.voter)["syncingTo"] in [m.name for m in self.group.members]))
        self.assertEqual(self.heartbeat(self.primary)["syncingTo"], "")
        self.assertNotIn("config", reply, "the asker has it")
        self.assertEqual(self.heartbeat(self.primary)["state"], 1)

    def test_a_primary_says_when_it_was_elected(self):  # REP-038
        elected = self.heartbeat(self.primary)["electionTime"]
        self.assertNotIn("electionTime", self.heartbeat(self.voter))
        own = next(m for m in self.primary.status()["members"] if m.get("self"))
        self.assertEqual(own["electionTime"], elected)
        self.assertTrue(eventually(lambda: self.voter.view_of(self.primary).get("electionTime") == elected))
        self.assertEqual(self.voter.view_of(self.primary)["electionDate"], own["electionDate"])
        self.assertNotIn("electionDate", self.voter.view_of(self.group.members[2]))

    def test_an_older_config_is_answered_with_the_newer_one(self):
        reply = self.heartbeat(self.voter, configVersion=self.config["version"] - 1)
        self.assertEqual(reply["config"]["version"], self.config["version"])

    def test_a_heartbeat_of_a_higher_term_ends_the_primary(self):
        counted = self.primary.metrics()["electionMetrics"]["numStepDownsCausedByHigherTerm"]
        later = self.term + 5
        self.assertEqual(self.heartbeat(self.primary, term=later)["ok"], 1)
        self.assertGreaterEqual(self.primary.term(), later)
        self.assertFalse(self.primary.is_primary() and self.primary.term() == later)
        self.assertEqual(self.primary.metrics()["electionMetrics"]["numStepDownsCausedByHigherTerm"], counted + 1)

    def test_a_report_names_the_voters_that_live(self):
        heard = self.heartbeat(self.voter, **{"from": self.primary.name})["others"]
        self.assertEqual([entry["host"] for entry in heard], [self.group.members[2].name], "neither itself nor the receiver")
        third = self.group.members[2]
        third.kill()
        self.addCleanup(third.start)
        self.assertTrue(eventually(lambda: self.heartbeat(self.voter, **{"from": self.primary.name})["others"] == []))

    def test_who_is_no_member_of_a_set_says_so(self):
        stranger = self.group.members[0]
        reply = stranger.ask("replSetRequestVotes", setName="rs", term=1, candidateIndex=9, configVersion=1)
        self.assertEqual(reply["codeName"], "BadValue")


if __name__ == "__main__":
    unittest.main()
