"""The judge of failovers finds what it is there for: lost and doubled writes, wrong answers, outcomes that no failover explains."""
import tempfile
import unittest
from pathlib import Path

from failovers.history import DISK_IS_FULL, Fault, Pauses, is_error, judge, parse
from failovers.lists import Recorder, idle, judge_file

FAULTS = [Fault(1, "kill", 10, 20), Fault(2, "freeze", 30, 40)]


def writes(*lines):
    """Of the writer w, lane 0: kind, outcome, begin, value. Each takes half a second."""
    return [parse("w", f"0\t{kind}\t{number}\t{outcome}\t{begun}\t{begun + 0.5}\t{value}\tsaid")
            for number, (kind, outcome, begun, value) in enumerate(lines)]


class Judge(unittest.TestCase):
    HISTORY = writes(("update", "acknowledged", 1, 1), ("modify", "acknowledged", 2, 1), ("insert", "acknowledged", 3, ""),
                     ("update", "unknown", 12, ""), ("modify", "unknown", 31, ""), ("modify", "acknowledged", 32, 3), ("insert", "acknowledged", 34, ""))
    COUNTERS = {"w-0-update": 1, "w-0-modify": 3}
    IDS = ["w-0-2", "w-0-6"]

    def found(self, history=HISTORY, counters=None, ids=None):
        return judge(history, FAULTS, counters or self.COUNTERS, self.IDS if ids is None else ids)

    def assert_finds(self, text, **what):
        found = self.found(**what)
        self.assertTrue(any(text in sentence for sentence in found), found)

    def test_an_unknown_write_is_there_or_not(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(counters={**self.COUNTERS, "w-0-update": 2}), [])

    def test_lost_and_doubled_additions(self):
        self.assert_finds("w-0-update is 0", counters={"w-0-modify": 3})
        self.assert_finds("w-0-update is 3", counters={**self.COUNTERS, "w-0-update": 3})
        self.assert_finds("made by nobody", counters={**self.COUNTERS, "other": 1})

    def test_wrong_answers(self):
        self.assert_finds("changed 0 documents", history=writes(("update", "acknowledged", 1, 0)))
        self.assert_finds("answered with 2", history=writes(("modify", "acknowledged", 1, 2)))
        for second in (1, 3):
            self.assert_finds(f"answered with {second}", history=writes(("modify", "acknowledged", 1, 1), ("modify", "acknowledged", 2, second)))

    def test_lost_doubled_and_foreign_documents(self):
        self.assert_finds("w-0-6 was acknowledged and is there 0 times", ids=["w-0-2"])
        self.assert_finds("w-0-2 was acknowledged and is there 2 times", ids=[*self.IDS, "w-0-2"])
        self.assert_finds("inserted by nobody", ids=[*self.IDS, "w-0-7"])
        self.assert_finds("said that its insert failed", history=writes(("insert", "failed", 11, "")), ids=["w-0-0"])

    def test_no_failover_explains_a_failure(self):
        self.assert_finds("which no failover explains", history=writes(("insert", "failed", 11, "")), ids=[])

    def test_unknown_outcomes_are_explained_by_failovers_one_a_lane(self):
        self.assert_finds("unknown without a failover", history=writes(("insert", "unknown", 25, "")), ids=[])
        self.assert_finds("failover 1 (kill) left 2 unknown outcomes", history=writes(("insert", "unknown", 11, ""), ("insert", "unknown", 12, "")), ids=[])

    def test_a_write_that_met_two_failovers_is_charged_to_one(self):
        close = [Fault(1, "kill", 10, 12.2), Fault(2, "kill", 12.4, 14)]
        history = writes(("insert", "unknown", 10, ""), ("insert", "unknown", 12, ""))
        self.assertEqual(judge(history, close, {}, []), [])
        self.assertIn("left 2 unknown outcomes", judge([*history, *writes(("insert", "unknown", 12, ""))], close, {}, [])[0])

    def test_a_line_without_an_outcome_is_refused(self):
        with self.assertRaises(ValueError):
            parse("w", "0\tinsert\t1\tperhaps\t1\t2\t\t")


class PausesOfDrivers(unittest.TestCase):
    def test_the_longest_time_between_two_acknowledgements_around_the_failover(self):
        pauses = Pauses(writes(("insert", "acknowledged", 1, ""), ("insert", "acknowledged", 9, ""), ("insert", "unknown", 11, ""),
                               ("insert", "acknowledged", 14, ""), ("insert", "acknowledged", 28, "")))
        self.assertEqual(pauses.longest("w", FAULTS[1]), 0)
        self.assertEqual(pauses.longest("w", Fault(1, "kill", 10, 12)), 5)
        self.assertEqual(pauses.longest("w", FAULTS[0]), 14)
        self.assertEqual(pauses.longest("another", FAULTS[0]), 0)


class LogsOfMembers(unittest.TestCase):
    FULL = Fault(3, "full secondary", 50, 60, errors=DISK_IS_FULL)

    def line(self, severity, number):
        return '{ "t" : { "$date" : "2026-01-01T00:00:00.000Z" }, "s" : "%s", "c" : "STORAGE", "id" : %d, "ctx" : "disk", "msg" : "x" }' % (severity, number)

    def test_errors_are_found_but_those_of_a_fault(self):
        for severity in "FE":
            self.assertTrue(is_error(self.line(severity, 21131), FAULTS))
            self.assertTrue(is_error(self.line(severity, 21131), [*FAULTS, self.FULL]))
        for severity in ("W", "I", "D2"):
            self.assertFalse(is_error(self.line(severity, 21131), FAULTS))
        for number in DISK_IS_FULL:
            self.assertTrue(is_error(self.line("E", number), FAULTS))
            self.assertFalse(is_error(self.line("E", number), [*FAULTS, self.FULL]))

    def test_what_is_no_line_of_the_log_is_found(self):
        self.assertTrue(is_error("terminate called without an active exception", FAULTS))
        self.assertFalse(is_error('{ "t" : { "$da', FAULTS), "a kill came while it was written")


class HistoriesOfLists(unittest.TestCase):
    """What the lanes of lists record is understood by the checker, and judged."""

    def recorded(self, *operations):
        folder = tempfile.TemporaryDirectory(prefix="troupe-integration-")
        self.addCleanup(folder.cleanup)
        recorder = Recorder("linearizable", Path(folder.name) / "lists.jsonl")
        for number, (outcome, kind, what) in enumerate(operations):
            recorder.note(recorder.next_process(), number, outcome, kind, {"key": "a", **what})
        recorder.close()
        return recorder

    APPENDED = (("ok", "append", {"value": 1}), ("unknown", "append", {"value": 2}), ("ok", "append", {"value": 3}), ("failed", "read", {}))

    def verdict(self, *contents, promise="strict"):
        """Of reads of the list that follow each other."""
        reads = [("ok", "read", {"contents": seen}) for seen in contents]
        return judge_file(promise, self.recorded(*self.APPENDED, *reads).path)

    def test_what_is_as_promised(self):
        for contents in ([1, 3], [1, 2, 3], [2, 1, 3]):
            code, said = self.verdict(contents)
            self.assertEqual((code, said), (0, "5 operations: as promised"))

    def test_what_is_lost_doubled_moved_or_of_nobody(self):
        # They overlap in time, so that a read alone may come before the appends; another one that has seen more came before.
        for reads, why in (([[1, 2, 3, 3]], "twice"), ([[1, 9]], "nobody has appended"), ([[1, 3], [3, 1]], "in two orders")):
            code, said = self.verdict(*reads)
            self.assertEqual(code, 1, said)
            self.assertIn(why, said)

    def test_what_is_no_history(self):
        self.assertEqual(judge_file("strict", "/nowhere/at/all")[0], 2)
        self.assertEqual(judge_file("somehow", self.recorded().path)[0], 2)
        self.assertEqual(judge_file("strict", self.recorded(("perhaps", "append", {"value": 1})).path)[0], 2)

    def test_an_idle_run_proves_nothing(self):
        self.assertEqual(len(list(idle(self.recorded(*self.APPENDED)))), 2)


if __name__ == "__main__":
    unittest.main()
