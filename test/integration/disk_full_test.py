"""A disk that fills up: writes are refused in time; and where the engine fails all the same, nothing acknowledged is lost."""
import os
import unittest

import pymongo

from support import SLOWNESS, Server, SmallDisk, eventually, run_server

OUT_OF_DISK_SPACE = 14031

class DiskFull(unittest.TestCase):
    """The data directory lies on a small file system of its own (in memory), which needs the right to mount. Half of it
    is taken by the journal's three files, which are filled beforehand."""

    ALONE = "the disk must not fill up faster than it is looked at"

    def setUp(self):
        self.disk = SmallDisk(self, 192)

    def fill(self, server):
        """Inserts with j:true until one fails: (how many were acknowledged, the error)."""
        with server.client(retryWrites=False) as client:
            target = client.t.get_collection("c", write_concern=pymongo.WriteConcern(j=True))
            acknowledged = 0
            while acknowledged < 100_000:
                try:
                    target.insert_many([{"_id": acknowledged + i, "bytes": os.urandom(10_000)} for i in range(20)])
                except pymongo.errors.BulkWriteError as error:
                    details = error.details
                    if details["writeErrors"]:
                        return acknowledged + details["nInserted"], details["writeErrors"][0]
                    return acknowledged, details["writeConcernErrors"][0]  # written, and not known to be safe
                except pymongo.errors.PyMongoError as error:
                    return acknowledged, {"code": getattr(error, "code", None), "errmsg": str(error)}
                acknowledged += 20
        self.fail("a gigabyte went onto a disk of 192 MiB")

    def start(self, *options):
        server = Server(*options, dbpath=self.disk.path)
        self.addCleanup(server.discard)
        return server.start()

    def check_nothing_is_lost(self, server, acknowledged):
        with server.client() as client:
            found = {d["_id"] for d in client.t.c.find({}, {"_id": 1})}
            missing = set(range(acknowledged)) - found
            self.assertFalse(missing, f"{len(missing)} of {acknowledged} acknowledged documents are gone")
            self.assertTrue(client.t.command("validate", "c")["valid"])

    def test_writes_are_refused_before_the_disk_is_full_and_come_back_by_themselves(self):
        server = self.start("--setParameter", "diskSpaceReserveMB=16")
        acknowledged, error = self.fill(server)
        self.assertGreater(acknowledged, 100)
        self.assertEqual(error["code"], OUT_OF_DISK_SPACE, error)
        with server.client() as client:
            self.assertTrue(client.admin.command("serverStatus")["diskSpace"]["refusingWrites"])
            self.assertEqual(client.t.c.count_documents({}), acknowledged)
            with self.assertRaises(pymongo.errors.OperationFailure) as refused:
                client.t.c.update_one({"_id": 1}, {"$set": {"more": "x" * 1000}})
            self.assertEqual(refused.exception.code, OUT_OF_DISK_SPACE)
            self.assertEqual(client.t.c.delete_many({"_id": {"$lt": 10}}).deleted_count, 10)
            self.disk.enlarge(600)
            self.assertTrue(eventually(lambda: not client.admin.command("serverStatus")["diskSpace"]["refusingWrites"]))
            client.t.c.insert_many({"_id": i} for i in range(10))
        self.check_nothing_is_lost(server, acknowledged)
        self.assertTrue(server.running(), server.log_tail())
        self.assertEqual(server.restart().stop(), 0)

    def test_without_a_reserve_nothing_acknowledged_is_lost_and_the_exit_says_why(self):
        server = self.start("--setParameter", "diskSpaceReserveMB=0")
        acknowledged, error = self.fill(server)
        self.assertGreater(acknowledged, 100)
        self.assertIn(error["code"], (OUT_OF_DISK_SPACE, None), error)  # None: the connection had ended before the answer
        self.assertGreater(server.process.wait(60 * SLOWNESS), 0, "the exit code of a failure")
        reason = server.log().splitlines()[-1]
        self.assertRegex(reason, "^trouped: .*no space left on the disk")

        # As long as there is no space the next start says so, in one line.
        code, said = run_server(*server.arguments())
        self.assertNotEqual(code, 0)
        self.assertIn("no space left", said)

        self.disk.enlarge(600)
        server.start()
        self.check_nothing_is_lost(server, acknowledged)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
