"""What the logs and the data of real members have in common: whatever writers, kills and removals there were."""
import datetime
import json
import threading
import time
import unittest

import pymongo
import pymongo.errors

from replica_set_support import MAJORITY, Background, Set, client_of, cut, has_hash, hash_of, mend
from support import SLOWNESS, eventually


def log_of(member, **filter):
    """The entries of a member's log, oldest first."""
    with member.client(readPreference="secondaryPreferred") as client:
        return list(client.local["oplog.rs"].find(filter, sort=[("$natural", 1)]))


class Logs(unittest.TestCase):
    def begin(self, *options):
        group = Set(3, *options)
        self.addCleanup(group.__exit__)
        group.__enter__()
        group.initiate()
        self.client = client_of(group)
        self.addCleanup(self.client.close)
        return group

    def at_once(self, *bodies):
        """Runs each again and again, side by side, until the returned function is called."""
        stop, failures = threading.Event(), []

        def work(body):
            round = 0
            while not stop.is_set():
                try:
                    body(round)
                except Exception as error:  # the test's own thread shows it
                    failures.append(error)
                    return
                round += 1
        threads = [threading.Thread(target=work, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()

        def end():
            stop.set()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
        self.addCleanup(stop.set)
        return end

    def assert_alike(self, group):
        """All members have the same log, from the first entry that all have to the last one, and the same data."""
        primary = group.settled(60)
        wanted = hash_of(primary)
        for member in group.members:
            self.assertTrue(eventually(lambda m=member: has_hash(m, wanted), 40), member.log_tail(40))

        def have_one_end():
            return len({str(log_of(m)[-1]["ts"]) for m in group.members}) == 1
        self.assertTrue(eventually(have_one_end))
        logs = [log_of(m) for m in group.members]
        first = max(log[0]["ts"] for log in logs)
        last = min(log[-1]["ts"] for log in logs)  # the primary may note something while they are read
        shared = [[(e["ts"], e["t"], e["op"], e["ns"], e["o"]) for e in log if first <= e["ts"] <= last] for log in logs]
        self.assertGreater(len(shared[0]), 0)
        for log in shared[1:]:
            self.assertEqual(log, shared[0])
        return shared[0]


class Writers(Logs):
    def test_parallel_writers_and_kills_of_a_member_leave_no_gap(self):
        """Checkpoints of the member fall in between: each holds all collections as of one time, from which its log goes on."""
        group = self.begin("--setParameter", "enableFlowControl=false", "--syncdelay", "1")
        collections = [self.client.app.get_collection(f"c{i}", write_concern=pymongo.WriteConcern(w=1)) for i in range(3)]

        def writer(number):
            def write(round):
                target = collections[(number + round) % len(collections)]
                target.insert_many([{"_id": f"{number}-{round}-{i}", "n": i} for i in range(20)])
                target.update_many({"n": {"$lt": 3}, "_id": {"$regex": f"^{number}-"}}, {"$inc": {"n": 1000}})
                target.delete_one({"_id": f"{number}-{round}-7"})
            return write
        end = self.at_once(*[writer(number) for number in range(6)])
        member = group.others(group.primary())[0]

        def has_applied(since):
            return member.metrics()["metrics"]["repl"]["apply"]["ops"] > since
        replayed = 0
        for _ in range(3):
            self.assertTrue(eventually(lambda: has_applied(300)), "it is in the middle of batches")
            held = member.status()["lastStableRecoveryTimestamp"]
            self.assertTrue(eventually(lambda: member.status()["lastStableRecoveryTimestamp"] > held), "a checkpoint in between")
            held = member.status()["lastStableRecoveryTimestamp"]
            self.assertTrue(eventually(lambda: member.status()["optimes"]["durableOpTime"]["ts"] > held), "its log goes on")
            member.kill()
            offset = len(member.log())
            member.start()
            self.assertTrue(eventually(lambda: member.hello().get("secondary"), 60), member.log_tail(30))
            started = [json.loads(line) for line in member.log()[offset:].splitlines() if '"Replayed the oplog"' in line]
            self.assertGreaterEqual(started[0]["attr"]["from"]["$timestamp"]["t"], held.time)
            replayed += started[0]["attr"]["entries"]
        end()
        self.assertGreater(replayed, 0, "each kill met a checkpoint that had everything")
        entries = self.assert_alike(group)
        self.assertGreater(len(entries), 1000)
        self.assertEqual([e[0] for e in entries], sorted({e[0] for e in entries}))

    def test_unique_values_that_move_between_documents_hold_no_member_up(self):
        group = self.begin("--setParameter", "enableFlowControl=false")
        items = self.client.app.get_collection("items", write_concern=pymongo.WriteConcern(w=1))
        items.create_index("value", unique=True)

        def mover(value):
            def move(round):
                if round > 0:
                    items.delete_one({"_id": f"{value}-{round - 1}"})
                items.insert_one({"_id": f"{value}-{round}", "value": value})
            return move
        end = self.at_once(*[mover(value) for value in range(6)])
        before = len(log_of(group.primary()))
        self.assertTrue(eventually(lambda: len(log_of(group.primary())) > before + 3000, 60))
        end()
        self.assert_alike(group)
        self.assertEqual(items.count_documents({}), 6)
        for member in group.members:
            with member.client(readPreference="secondaryPreferred") as client:
                found = client.app.command("validate", "items", full=True)
                self.assertTrue(found["valid"], found)
                self.assertEqual(found["keysPerIndex"]["value_1"], 6)


class Reads(Logs):
    def test_a_secondary_shows_what_the_primary_had_at_one_moment(self):
        """Counters that are raised one after the other: those in front are never behind, and by one at most ahead. A read
        that takes its turn of 10 ms goes on at a later moment, as a busy machine makes it do: such ones show nothing."""
        group = self.begin("--setParameter", "enableFlowControl=false")
        COUNTERS = 12
        counters = self.client.app.get_collection("counters", write_concern=pymongo.WriteConcern(w=1))
        everywhere = counters.with_options(write_concern=pymongo.WriteConcern(w=3))
        everywhere.insert_many([{"_id": i, "n": -1} for i in range(COUNTERS)])

        def raise_all(round):
            for ids in (range(0, COUNTERS),):
                counters.bulk_write([pymongo.UpdateOne({"_id": i}, {"$set": {"n": round}}) for i in ids], ordered=True)
        end = self.at_once(raise_all)
        reading = []
        for member in group.others(group.primary()):
            client = member.client(readPreference="secondary")
            self.addCleanup(client.close)
            reading.append(client.app.counters)
        seen = set()
        for _ in range(1500):
            for found in reading:
                begun = time.monotonic()
                numbers = [d["n"] for d in found.find().sort("_id", 1)]
                if time.monotonic() - begun > 0.009:
                    continue
                self.assertEqual(len(numbers), COUNTERS)
                self.assertEqual(numbers, sorted(numbers, reverse=True))
                self.assertLessEqual(numbers[0] - numbers[-1], 1)
                seen.add(numbers[0])
        end()
        self.assertGreater(len(seen), 20, "it was written meanwhile")
        self.assert_alike(group)


class Truncation(Logs):
    def test_what_a_replay_needs_stays_although_the_log_has_outgrown_its_size(self):
        group = self.begin("--oplogSize", "1", "--syncdelay", "0")
        primary = group.primary()
        items = self.client.app.get_collection("items", write_concern=MAJORITY)
        items.insert_one({"_id": "first"})

        def size():
            return primary.ask({"collStats": "oplog.rs"}, db="local")["size"]
        items.insert_many([{"_id": i, "text": "x" * 10_000} for i in range(400)])
        truncations = primary.metrics()["oplogTruncation"]["truncateCount"]
        time.sleep(3)  # the trimmer looks once a second
        self.assertGreater(size(), 4_000_000)
        self.assertEqual(primary.metrics()["oplogTruncation"]["truncateCount"], truncations)
        primary.kill()
        primary.start()
        primary = group.settled(60)
        self.assert_alike(group)
        self.assertEqual(self.client.app.items.count_documents({}), 401)
        items.insert_one({"_id": "last"})
        primary.command("fsync")
        self.assertTrue(eventually(lambda: size() < 2_500_000), size())


class Sizes(Logs):
    def test_a_new_size_outlives_the_process_and_disturbs_no_reader(self):
        group = self.begin()
        primary = group.primary()
        self.client.app.items.insert_one({"_id": 0})
        log = self.client.local["oplog.rs"]
        tail = log.find({"ns": "app.items"}, cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
        self.assertEqual(next(tail)["o"], {"_id": 0})
        primary.ask({"replSetResizeOplog": 1, "size": 2000})
        self.client.app.items.insert_one({"_id": 1})
        self.assertEqual(next(tail)["o"], {"_id": 1})
        tail.close()

        def sizes():
            options = primary.ask({"listCollections": 1, "filter": {"name": "oplog.rs"}}, db="local")["cursor"]["firstBatch"][0]["options"]
            return options["size"], primary.ask({"collStats": "oplog.rs"}, db="local")["maxSize"]
        self.assertEqual(sizes(), (2000 << 20, 2000 << 20))
        self.client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": 2})  # what came before is durable, too
        primary.kill()
        primary.start()
        group.settled(60)
        self.assertEqual(sizes(), (2000 << 20, 2000 << 20))


class Removals(Logs):
    def test_expired_documents_go_from_a_member_with_the_log_alone(self):
        group = self.begin("--setParameter", "ttlMonitorSleepSecs=1")
        items = self.client.app.get_collection("items", write_concern=MAJORITY)
        primary = group.primary()
        behind = group.others(primary)[0]
        items.create_index("at", expireAfterSeconds=1800)
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4 * SLOWNESS - 1800)

        def left_on(member):
            with member.client(readPreference="secondaryPreferred") as client:
                return client.app.items.count_documents({})
        items.with_options(write_concern=pymongo.WriteConcern(w=3)).insert_many([{"_id": i, "at": soon} for i in range(500)])
        for other in group.others(behind):
            cut(behind, other)
        self.assertTrue(eventually(lambda: left_on(primary) == 0))
        passes = behind.metrics()["metrics"]["ttl"]["passes"]
        self.assertTrue(eventually(lambda: behind.metrics()["metrics"]["ttl"]["passes"] > passes + 1))
        self.assertEqual(left_on(behind), 500, "it hears of no removal")
        for other in group.others(behind):
            mend(behind, other)
        for member in group.members:
            self.assertTrue(eventually(lambda m=member: left_on(m) == 0), member.log_tail())
        removals = [[(e["ts"], e["o"]) for e in log_of(m, ns="app.items", op="d") + log_of(m, **{"o.applyOps.op": "d"})] for m in group.members]
        self.assertEqual(sum(len(entry[1].get("applyOps", [0])) for entry in removals[0]), 500)
        self.assertEqual(removals[1:], removals[:1] * 2)
        removed = [m.metrics()["metrics"]["ttl"]["deletedDocuments"] for m in group.members]
        self.assertEqual(sorted(removed), [0, 0, 500])

    def test_a_database_goes_once_a_majority_knows_that_its_collections_have(self):
        group = self.begin()
        primary = group.settled(60)
        for name in ("a", "b"):
            self.client.gone.get_collection(name, write_concern=MAJORITY).insert_one({})
        for other in group.others(primary):
            cut(primary, other)
        waiting = Background(primary, {"dropDatabase": 1}, db="gone", writeConcern={"w": 1}, maxTimeMS=700)
        reply = waiting.join()
        self.assertEqual(reply.get("code"), 50, reply)
        self.assertEqual([e for e in log_of(primary) if e["o"].get("dropDatabase")], [])
        self.assertEqual(len([e for e in log_of(primary, ns="gone.$cmd") if e["o"].get("drop")]), 2)
        for other in group.others(primary):
            mend(primary, other)
        primary = group.settled(60)
        self.client.gone.get_collection("c", write_concern=MAJORITY).insert_one({})
        reply = primary.ask({"dropDatabase": 1}, db="gone")
        self.assertEqual((reply["ok"], reply.get("dropped")), (1, "gone"), reply)
        for member in group.members:
            self.assertTrue(eventually(lambda m=member: [next(iter(e["o"])) for e in log_of(m, ns="gone.$cmd")][-2:] == ["drop", "dropDatabase"]))
            with member.client(readPreference="secondaryPreferred") as client:
                self.assertNotIn("gone", client.list_database_names())
        drop, dropped = log_of(primary, ns="gone.$cmd")[-2:]
        self.assertGreater(dropped["ts"], drop["ts"])


if __name__ == "__main__":
    unittest.main()
