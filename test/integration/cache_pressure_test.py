"""The smallest cache under more dirty data than it holds: writes succeed or fail with an error that says so; none hangs."""
import threading
import time
import unittest

import pymongo

from support import SLOWNESS, Server

TEMPORARILY_UNAVAILABLE, TRANSACTION_TOO_LARGE_FOR_CACHE = 365, 388
PRESSURE = 0.1  # a share of the cache: twice what eviction strives for, half of what makes writers wait
DOCUMENTS = 400
ROUNDS = 3 if SLOWNESS == 1 else 1


class CachePressure(unittest.TestCase):
    ALONE = "takes all of the machine, and a write that takes two minutes counts as hanging"

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--wiredTigerCacheSizeGB", "0.25", "--setParameter", "temporarilyUnavailableBackoffBaseMs=20",
                            "--setParameter", "temporarilyUnavailableMaxRetries=5")
        cls.addClassCleanup(cls.server.discard)
        cls.server.start()

    def write(self, index, outcomes):
        with self.server.client(socketTimeoutMS=int(120_000 * SLOWNESS), retryWrites=False) as client:
            own = client.t[f"c{index}"]
            for round_number in range(ROUNDS):
                try:
                    own.insert_many([{"_id": round_number * DOCUMENTS + i, "text": "x" * 20_000} for i in range(DOCUMENTS)])
                    own.update_many({}, {"$set": {"text": str(round_number) * 20_000, "round": round_number}})
                    outcomes.append(0)
                    own.insert_many([{"text": "z" * 9_000_000} for _ in range(3)])  # together more than may be dirty
                    own.update_many({"round": {"$exists": False}}, {"$set": {"grown": "y" * 5_000_000}})
                    outcomes.append(0)
                except pymongo.errors.BulkWriteError as error:
                    outcomes.append(error.details["writeErrors"][0]["code"])
                except pymongo.errors.PyMongoError as error:
                    outcomes.append(getattr(error, "code", None) or repr(error))

    def most_dirty(self, while_true):
        """The most dirty bytes that the cache was seen to hold meanwhile, as a share of it."""
        most, deadline = 0, time.monotonic() + 300 * SLOWNESS
        with self.server.client(socketTimeoutMS=int(60_000 * SLOWNESS)) as client:
            while while_true() and time.monotonic() < deadline:
                cache = client.admin.command("serverStatus")["wiredTiger"]["cache"]
                most = max(most, cache["tracked dirty bytes in the cache"] / cache["maximum bytes configured"])
                time.sleep(0.02)
        return most

    def test_big_updates_succeed_or_say_that_the_cache_is_full(self):
        outcomes = []
        writers = [threading.Thread(target=self.write, args=(i, outcomes), daemon=True) for i in range(12)]
        for writer in writers:
            writer.start()
        dirty = self.most_dirty(lambda: any(w.is_alive() for w in writers))
        self.assertFalse([w for w in writers if w.is_alive()], f"a writer hangs; so far {outcomes}")
        self.assertGreater(dirty, PRESSURE, "the cache was never under pressure")
        self.assertIn(0, outcomes)
        self.assertLessEqual(set(outcomes), {0, TEMPORARILY_UNAVAILABLE, TRANSACTION_TOO_LARGE_FOR_CACHE}, self.server.log_tail(5))
        self.assertGreaterEqual(len(outcomes), 12)
        self.assertTrue(self.server.running(), self.server.log_tail())
        with self.server.client() as client:
            for i in range(12):
                self.assertTrue(client.t.command("validate", f"c{i}")["valid"])
            client.t.after.insert_one({"_id": 1})
            status = client.admin.command("serverStatus")
        self.assertEqual(status["wiredTiger"]["cache"]["maximum bytes configured"], 256 << 20)
        print(f"      outcomes: { {code: outcomes.count(code) for code in sorted(set(outcomes))} }, {dirty:.0%} dirty")


class LargeTransactions(unittest.TestCase):
    """One document with many keys in many indexes is one transaction, of whatever size one likes."""

    ALONE = "takes all of the machine, and a write that takes two minutes counts as hanging"

    def setUp(self):
        self.server = Server("--wiredTigerCacheSizeGB", "0.25", "--setParameter", "temporarilyUnavailableBackoffBaseMs=20",
                             "--setParameter", "temporarilyUnavailableMaxRetries=3")
        self.addCleanup(self.server.discard)
        self.server.start()

    def operations(self, client):
        return client.admin.command("serverStatus")["metrics"]["operation"]

    def insert(self, index, indexes, outcomes):
        """Inserts some 12 MB, and as much again for each index."""
        with self.server.client(socketTimeoutMS=int(120_000 * SLOWNESS), retryWrites=False) as client:
            own = client.t[f"c{index}"]
            for i in range(indexes):
                own.create_index([("words", 1), (f"field{i}", 1)])
            try:
                own.insert_one({"_id": 1, "words": [f"{i} {'x' * 10_000}" for i in range(1200)]})
                outcomes.append(0)
            except pymongo.errors.PyMongoError as error:
                outcomes.append(getattr(error, "code", None) or repr(error))

    def check_it_goes_on(self, client):
        self.assertTrue(self.server.running(), self.server.log_tail())
        client.t.after.insert_one({"_id": 1})
        self.assertEqual(client.t.after.count_documents({}), 1)

    def test_a_transaction_that_alone_fills_the_cache_is_told_so_and_not_tried_again(self):
        outcomes = []
        self.insert(0, 30, outcomes)
        self.assertEqual(outcomes, [TRANSACTION_TOO_LARGE_FOR_CACHE], self.server.log_tail(5))
        with self.server.client() as client:
            self.assertEqual(client.t.c0.count_documents({}), 0)
            self.assertEqual(self.operations(client)["transactionTooLargeForCacheErrors"], 1)
            self.check_it_goes_on(client)

    def test_transactions_that_fill_it_together_are_tried_again_and_then_told_to_come_back(self):
        outcomes = []
        writers = [threading.Thread(target=self.insert, args=(i, 12, outcomes), daemon=True) for i in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(150 * SLOWNESS)
        self.assertEqual(len(outcomes), 4, f"a writer hangs; so far {outcomes}")
        self.assertLessEqual(set(outcomes), {0, TEMPORARILY_UNAVAILABLE, TRANSACTION_TOO_LARGE_FOR_CACHE}, self.server.log_tail(5))
        with self.server.client() as client:
            self.assertGreater(self.operations(client)["temporarilyUnavailableErrors"], 0, outcomes)
            for i in range(4):
                self.assertTrue(client.t.command("validate", f"c{i}")["valid"])
            self.check_it_goes_on(client)
        print(f"      outcomes: {sorted(outcomes)}")


if __name__ == "__main__":
    unittest.main()
