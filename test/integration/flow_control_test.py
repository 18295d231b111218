"""Replica sets of real processes whose majority lags: the primary holds writers back, and lets them go on afterwards."""
import json
import threading
import time
import unittest

import pymongo
from pymongo.write_concern import WriteConcern

from replica_set_support import Set, client_of
from support import SLOWNESS, eventually

LEAST = 20  # tickets a second


class Writers:
    """Clients that insert without awaiting the majority; `done` counts, `failures` collects."""

    def __init__(self, group, count=4):
        self.done, self.failures, self.stopped = 0, [], False
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(group, i)) for i in range(count)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        for thread in self._threads:
            thread.join()

    def _run(self, group, worker):
        with client_of(group) as client:
            items = client.app.get_collection("items", write_concern=WriteConcern(w=1))
            n = 0
            while not self.stopped:
                try:
                    items.insert_one({"_id": f"{worker}-{n}", "text": "x" * 100})
                except pymongo.errors.PyMongoError as failure:
                    self.failures.append(failure)
                    return
                n += 1
                with self._lock:
                    self.done += 1

    def per_second(self, seconds=3):
        before, begun = self.done, time.monotonic()
        time.sleep(seconds)
        return (self.done - before) / (time.monotonic() - begun)


def log_attributes(member, number):
    """The attributes of all lines of a number in a member's log."""
    lines = [json.loads(line) for line in member.log().splitlines() if line.startswith("{")]
    return [line.get("attr", {}) for line in lines if line["id"] == number]


def flow(member):
    return member.metrics()["flowControl"]


class FlowControl(unittest.TestCase):
    OPTIONS = ("--setParameter", "flowControlTargetLagSeconds=4", "--setParameter", "flowControlThresholdLagPercentage=0.5",
               "--setParameter", f"flowControlMinTicketsPerSecond={LEAST}")

    def test_a_lagging_majority_slows_writers_down_and_fails_none(self):
        with Set(3, *self.OPTIONS) as group:
            group.initiate()
            primary = group.settled()
            secondaries = group.others(primary)
            with Writers(group) as writers:
                free = writers.per_second()
                self.assertFalse(flow(primary)["isLagged"])
                self.assertGreater(free, 5 * LEAST)
                for member in secondaries:  # their appliers wait
                    member.command("fsync", lock=True)
                self.assertTrue(eventually(lambda: flow(primary)["targetRateLimit"] == LEAST), flow(primary))
                held = writers.per_second()
                self.assertLessEqual(held, 1.5 * LEAST)
                self.assertTrue(eventually(lambda: self.waits_in_current_op(primary)))
                for member in secondaries:
                    member.command("fsyncUnlock")
                self.assertTrue(eventually(lambda: flow(primary)["targetRateLimit"] > 1000), flow(primary))
                self.assertGreater(writers.per_second(), 5 * LEAST)
            self.assertEqual(writers.failures, [])
            shown = flow(primary)
            self.assertGreaterEqual(shown["isLaggedCount"], 1)
            self.assertGreater(shown["isLaggedTimeMicros"], 1_000_000)
            self.assertGreater(shown["timeAcquiringMicros"], 1_000_000)
            slow = [each for each in log_attributes(primary, 51803) if "flowControl" in each]
            self.assertTrue(any(each["flowControl"].get("timeAcquiringMicros", 0) > 100_000 for each in slow))
            for member in secondaries:
                self.assertTrue(eventually(lambda m=member: self.count(m) == writers.done), member.log_tail(20))

    def waits_in_current_op(self, primary):
        return any(op.get("waitingForFlowControl") for op in primary.command("currentOp")["inprog"])

    def count(self, member):
        with member.client() as client:
            items = client.get_database("app", read_preference=pymongo.ReadPreference.SECONDARY_PREFERRED).items
            return items.count_documents({})

    def test_disabled_it_slows_nobody_down(self):
        with Set(3, *self.OPTIONS, "--setParameter", "enableFlowControl=false") as group:
            group.initiate()
            primary = group.settled()
            for member in group.others(primary):
                member.command("fsync", lock=True)
            with Writers(group) as writers:
                time.sleep(4 * SLOWNESS)
                self.assertGreater(writers.per_second(), 5 * LEAST)
                self.assertFalse(flow(primary)["isLagged"])
            self.assertEqual(writers.failures, [])
            for member in group.others(primary):
                member.command("fsyncUnlock")


class ReplicationFigures(unittest.TestCase):
    def test_a_member_counts_what_it_fetches_and_applies(self):
        with Set(2) as group:
            group.initiate()
            primary = group.settled()
            secondary = group.others(primary)[0]
            secondary.command("setParameter", slowOpThresholdMs=0)
            before = secondary.metrics()
            with client_of(group) as client:
                items = client.app.get_collection("items", write_concern=WriteConcern(w=2))
                items.insert_many([{"_id": i} for i in range(50)])
                items.update_many({"_id": {"$lt": 10}}, {"$set": {"x": 1}})
                items.delete_many({"_id": {"$gte": 45}})
            after = secondary.metrics()
            grown = {kind: after["opcountersRepl"][kind] - before["opcountersRepl"][kind] for kind in ("insert", "update", "delete", "command")}
            self.assertEqual(grown, {"insert": 50, "update": 10, "delete": 5, "command": 1})
            self.check_metrics(before["metrics"]["repl"], after["metrics"]["repl"])
            self.assertEqual(primary.metrics()["opcountersRepl"]["insert"], 0)
            self.assertEqual(primary.metrics()["metrics"]["repl"]["initialSync"]["completed"], 0)
            self.assertGreaterEqual(primary.metrics()["oplogTruncation"]["truncateCount"], 0)
            applied = log_attributes(secondary, 21232)
            self.assertGreaterEqual(sum(each["entries"] for each in applied if each["ns"] == "app.items"), 65)

    def check_metrics(self, before, after):
        self.assertGreaterEqual(after["apply"]["ops"] - before["apply"]["ops"], 66)
        self.assertEqual(after["apply"]["batchSize"], after["apply"]["ops"])
        self.assertGreater(after["apply"]["batches"]["num"], before["apply"]["batches"]["num"])
        self.assertGreaterEqual(after["apply"]["attemptsToBecomeSecondary"], 1)
        self.assertGreaterEqual(after["network"]["ops"] - before["network"]["ops"], 66)
        self.assertGreater(after["network"]["bytes"] - before["network"]["bytes"], 66 * 50)
        self.assertGreater(after["network"]["getmores"]["num"], 0)
        self.assertGreaterEqual(after["network"]["readersCreated"], 1)
        self.assertEqual(after["buffer"]["count"], 0)
        self.assertEqual(after["buffer"]["sizeBytes"], 0)
        self.assertGreater(after["buffer"]["maxSizeBytes"], 1 << 20)
        source = after["syncSource"]
        self.assertGreaterEqual(source["numSelections"], 1)
        self.assertGreaterEqual(source["numTimesChoseDifferent"], 1)
        self.assertEqual(source["numSelections"], source["numTimesChoseSame"] + source["numTimesChoseDifferent"] + source["numTimesCouldNotFind"])
        self.assertEqual(after["initialSync"], {"completed": 1, "failedAttempts": 0, "failures": 0})


if __name__ == "__main__":
    unittest.main()
