"""Generated operations that want all the memory or all the time, several at once: each ends well or with an error that it may have, the server's
memory stays bounded, and a client that does nothing of the kind does not notice them. TROUPE_HOSTILE_CASES says how many (3,000 in a full run),
TROUPE_HOSTILE_SEED and TROUPE_HOSTILE_FIRST which."""
import collections
import multiprocessing
import os
import threading
import time

import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

import hostile_generator
from support import MEMORY_EXTRA_MIB, MEMORY_FACTOR, SLOWNESS, Raw, ServerTest, eventually

CASES = int(os.environ.get("TROUPE_HOSTILE_CASES", "150"))
FIRST = int(os.environ.get("TROUPE_HOSTILE_FIRST", "0"))
SEED = os.environ.get("TROUPE_HOSTILE_SEED", "1")
LANES = 4
RENEW_EVERY = 50
CACHE_MIB, ALLOWANCE_MIB, MARGIN_MIB = 256, 256, 320
RAW = CodecOptions(document_class=RawBSONDocument)

# What these commands may be refused with, and why.
KNOWN = {
    2: "a number that does not fit any more ($mul)",
    14: "a value of another type",
    28: "a path through what is no document",
    34: "an index of an array that is too far behind its end",
    50: "out of time",
    146: "out of memory",
    201: "a document with too many keys for an index",
    292: "out of memory where no disk may be used ($setWindowFields)",
    10334: "a document that is too large",
    11000: "two writers of one _id ($merge)",
    16493: "a string in an expression that is too long",
    16883: "$map over what is no array",
    17043: "$setUnion of what is no array",
    17047: "$setIntersection of what is no array",
    17124: "$size of what is no array",
    17419: "a document that became too large",
    28664: "$concatArrays of what is no array",
    34468: "$zip of what is no array",
    34471: "$strLenCP of what is no text",
    51156: "a regular expression that takes too long",
    51185: "an array for an _id ($merge)",
}
Outcome = collections.namedtuple("Outcome", "number code seconds command why")


class Innocent:
    """A client in a process of its own, which reads one document again and again and notes how long that takes."""

    def __init__(self, port, database):
        self.ending = multiprocessing.Event()
        self.waits, answers = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=self.run, args=(port, database, answers), daemon=True)
        self.process.start()

    def run(self, port, database, answers):
        waits = []
        with Raw(port, 60 * SLOWNESS) as raw:
            while not self.ending.wait(0.002):
                begun = time.monotonic()
                found = raw.command({"find": "c", "filter": {"_id": 1}, "$db": database})
                waits.append(time.monotonic() - begun)
                if found is None or found["ok"] != 1:
                    break
            else:
                answers.send(waits)
                return
        answers.send(None)

    def stop(self):
        """Its waits, in seconds, in order; None if it was not served."""
        self.ending.set()
        waits = self.waits.recv() if self.waits.poll(60 * SLOWNESS) else None
        self.process.join()
        return waits and sorted(waits)


class HostileGenerated(ServerTest):
    ALONE = "measures how long others wait, and memory"
    OPTIONS = ("--wiredTigerCacheSizeGB", str(CACHE_MIB / 1024), "--setParameter", f"operationMemoryLimitBytes={ALLOWANCE_MIB << 20}",
               "--setParameter", f"operationMemoryTotalBytes={ALLOWANCE_MIB << 20}")

    def fill(self):
        for name in ("c", "u"):
            self.db[name].create_index("n")
            self.db[name].create_index("list")
        self.db.c.insert_many(hostile_generator.document(i) for i in range(hostile_generator.DOCUMENTS))
        self.renew()

    def renew(self):
        """Updates let the documents of `u` grow: now and then they begin anew, beside the others' work."""
        self.db.u.delete_many({})
        for i in range(hostile_generator.DOCUMENTS):
            self.db.u.replace_one({"_id": i}, hostile_generator.document(i), upsert=True)

    def run_case(self, client, command):
        """The code it ends with, None for success, and the message."""
        database = client[self.db.name]
        try:
            reply = database.command(command, codec_options=RAW)
            cursor = dict(reply).get("cursor")
            if cursor and cursor["id"]:
                name = cursor["ns"].split(".", 1)[1]
                database.command({"getMore": cursor["id"], "collection": name, "batchSize": 20}, codec_options=RAW)
                database.command({"killCursors": name, "cursors": [cursor["id"]]})
            errors = dict(reply).get("writeErrors")
            return (errors[0]["code"], errors[0]["errmsg"]) if errors else (None, "")
        except pymongo.errors.OperationFailure as error:
            return error.code, str(error).split(", full error")[0]

    def lane(self, numbers, outcomes):
        with self.server.client(socketTimeoutMS=int(60_000 * SLOWNESS), retryReads=False, retryWrites=False) as client:
            for number in numbers:
                command = hostile_generator.make_command(SEED, number, SLOWNESS)
                begun = time.monotonic()
                try:
                    code, why = self.run_case(client, command)
                except Exception as error:  # nothing else may happen; it is told with its number
                    code, why = type(error).__name__, str(error)
                outcomes.append(Outcome(number, code, time.monotonic() - begun, next(iter(command)), why[:200]))

    def attack(self):
        outcomes, highest = [], 0
        numbers = iter(range(FIRST, FIRST + CASES))
        lock = threading.Lock()

        def shared():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                yield number

        lanes = [threading.Thread(target=self.lane, args=(shared(), outcomes)) for _ in range(LANES)]
        for thread in lanes:
            thread.start()
        renewed = 0
        while any(thread.is_alive() for thread in lanes):
            highest = max(highest, self.server.memory_mib() if self.server.running() else 0)
            time.sleep(0.005)
            if len(outcomes) // RENEW_EVERY > renewed:
                renewed += 1
                self.renew()
        return outcomes, highest

    def test_each_ends_as_it_may_and_nobody_else_notices(self):
        self.fill()
        innocent = Innocent(self.server.port, self.db.name)
        outcomes, highest = self.attack()
        waits = innocent.stop()
        codes = collections.Counter(outcome.code for outcome in outcomes)
        slowest = max(outcomes, key=lambda outcome: outcome.seconds)
        p99 = waits[int(len(waits) * 0.99)] if waits else None
        print(f"      {len(outcomes)} cases, {highest:.0f} MiB, p99 of {len(waits or ())} reads {p99}, slowest {slowest}, {dict(codes)}", flush=True)
        self.assertEqual(len(outcomes), CASES)
        unknown = {outcome.code: outcome for outcome in outcomes if outcome.code is not None and outcome.code not in KNOWN}
        self.assertEqual(list(unknown.values()), [], f"of seed {SEED}")
        self.assertGreater(codes[None], CASES // 10, "most of these commands are refused: they test nothing")
        self.assertGreater(codes[50] + codes[146], CASES // 10, "few of these commands want much")
        self.assertLess(highest, (CACHE_MIB + MARGIN_MIB) * MEMORY_FACTOR + MEMORY_EXTRA_MIB)
        self.assertIsNotNone(waits, "the innocent client was not served")
        self.assertLess(p99, 0.1 * SLOWNESS, f"of {len(waits)} reads")
        self.assertTrue(eventually(lambda: self.client.admin.command("serverStatus")["metrics"]["operationMemory"]["reservedBytes"] == 0))


if __name__ == "__main__":
    import unittest
    unittest.main()
