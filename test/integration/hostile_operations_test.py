"""Operations that want all the memory or all the time: each ends at its budget, by its deadline, by killOp or with its client, and
other clients do not notice them."""
import threading
import time

import pymongo

from support import MEMORY_EXTRA_MIB, MEMORY_FACTOR, SLOWNESS, ServerTest, eventually, frame, op_msg_payload

# One evaluation of many seconds, which gives way to nobody by itself.
LONG = [{"$documents": [{}]}, {"$project": {"n": {"$reduce": {
    "input": {"$range": [0, 4_000_000]}, "initialValue": 0,
    "in": {"$add": ["$$value", {"$strLenBytes": {"$concat": ["a", *({"$toString": {"$sqrt": {"$add": ["$$this", i]}}} for i in range(5))]}}]}}}}}]


def repeated(initial, grown):
    return {"$reduce": {"input": {"$range": [0, 64]}, "initialValue": initial, "in": grown}}


GROWING = [
    repeated([1, 2, 3], {"$concatArrays": ["$$value", "$$value"]}),
    repeated("abc", {"$concat": ["$$value", "$$value"]}),
    repeated([1], ["$$value", "$$value"]),
    repeated("a", {"$replaceAll": {"input": "$$value", "find": "a", "replacement": "aaaaaaaa"}}),
]


class HostileOperations(ServerTest):
    ALONE = "measures how long others wait"

    def running(self):
        operations = self.client.admin.command("currentOp")["inprog"]
        return [o for o in operations if o.get("command", {}).get("aggregate") == 1 or "getMore" in o.get("command", {})]

    def attack(self, count, milliseconds):
        """Clients that each run a long query once; the errors they ended with come later."""
        errors = []

        def run():
            with self.server.client() as client:
                try:
                    list(client.admin.aggregate(LONG, maxTimeMS=int(milliseconds)))
                    errors.append(None)
                except pymongo.errors.PyMongoError as error:
                    errors.append(getattr(error, "code", error))

        threads = [threading.Thread(target=run) for _ in range(count)]
        for thread in threads:
            thread.start()
        self.assertTrue(eventually(lambda: len(self.running()) == count))
        return threads, errors

    def test_other_clients_are_served_beside_them(self):
        self.db.c.insert_one({"_id": 1})
        threads, errors = self.attack(6, 6000 * SLOWNESS)
        waits = []
        end = time.monotonic() + 2
        while time.monotonic() < end:
            begun = time.monotonic()
            self.db.c.find_one({"_id": 1})
            waits.append(time.monotonic() - begun)
        begun = time.monotonic()
        with self.server.client() as another:
            another.admin.command("ping")
        connected = time.monotonic() - begun
        self.assertEqual(errors, [], "the attack has to last longer than the measurement")
        for thread in threads:
            thread.join()
        self.assertEqual(set(errors), {50})
        waits.sort()
        self.assertLess(waits[int(len(waits) * 0.99)], 0.1 * SLOWNESS, f"of {len(waits)}")
        self.assertLess(connected, 1 * SLOWNESS)

    def test_they_end_at_their_deadline(self):
        begun = time.monotonic()
        self.assertFails(50, lambda: list(self.client.admin.aggregate(LONG, maxTimeMS=300)))
        self.assertLess(time.monotonic() - begun, 0.3 + 0.2 * SLOWNESS)

    def test_they_end_when_they_are_killed(self):
        threads, errors = self.attack(1, 60_000)
        begun = time.monotonic()
        self.client.admin.command({"killOp": 1, "op": self.running()[0]["opid"]})
        threads[0].join()
        self.assertLess(time.monotonic() - begun, 0.2 * SLOWNESS)
        self.assertEqual(errors, [11601])

    def test_they_end_with_their_client(self):
        raw = self.server.raw()
        raw.send(frame(op_msg_payload({"aggregate": 1, "pipeline": LONG, "cursor": {}, "$db": "admin"})))
        self.assertTrue(eventually(lambda: len(self.running()) == 1))
        raw.close()
        self.assertTrue(eventually(lambda: not self.running(), 1))

    def test_a_getmore_that_waits_ends_with_its_client(self):
        self.db.create_collection("capped", capped=True, size=10_000)
        self.db.capped.insert_one({"_id": 1})
        raw = self.server.raw()
        found = raw.command({"find": "capped", "tailable": True, "awaitData": True, "$db": self.db.name})
        waiting = {"getMore": found["cursor"]["id"], "collection": "capped", "maxTimeMS": 600_000, "$db": self.db.name}
        raw.send(frame(op_msg_payload(waiting)))
        self.assertTrue(eventually(lambda: len(self.running()) == 1))
        raw.close()
        self.assertTrue(eventually(lambda: not self.running(), 2))


class HostileMemory(ServerTest):
    ALONE = "measures memory while it takes all of the machine"
    OPTIONS = ("--setParameter", f"operationMemoryLimitBytes={64 << 20}", "--setParameter", f"operationMemoryTotalBytes={128 << 20}")

    def test_the_memory_they_take_is_bounded(self):
        self.db.c.insert_one({"_id": 1})
        before = self.server.memory_mib()
        highest, errors = [before], []

        def run(expression):
            with self.server.client() as client:
                for _ in range(3):
                    try:
                        list(client.admin.aggregate([{"$documents": [{}]}, {"$project": {"v": expression}}]))
                    except pymongo.errors.OperationFailure as error:
                        errors.append(error.code)

        threads = [threading.Thread(target=run, args=(GROWING[i % len(GROWING)],)) for i in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            highest.append(self.server.memory_mib())
            time.sleep(0.005)
        self.assertEqual(len(errors), 24)
        self.assertLessEqual(set(errors), {146, 16493})  # the budget, or sooner the size that a string may have
        self.assertLess(max(highest) - before, 320 * MEMORY_FACTOR + MEMORY_EXTRA_MIB)
        memory = self.client.admin.command("serverStatus")["metrics"]["operationMemory"]
        self.assertEqual(memory["reservedBytes"], 0)
        self.assertLessEqual(memory["peakBytes"], 128 << 20)
