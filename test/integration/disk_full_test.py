"""A disk that fills up: nothing acknowledged is lost, the server ends in order, and starts again once there is space."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import pymongo

from support import Server, run_server



class DiskFull(unittest.TestCase):
    """The data directory lies on a small file system of its own (in memory), which needs the right to mount."""

    def setUp(self):
        self.disk = Path(tempfile.mkdtemp(prefix="troupe-small-disk-"))
        self.addCleanup(shutil.rmtree, self.disk, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(self.disk)], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a small file system: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(self.disk)], check=True)

    def fill(self, server):
        """Inserts with j:true until one fails: (how many were acknowledged, the error)."""
        with server.client(retryWrites=False) as client:
            target = client.t.get_collection("c", write_concern=pymongo.WriteConcern(j=True))
            acknowledged = 0
            while acknowledged < 100_000:
                try:
                    target.insert_many([{"_id": acknowledged + i, "bytes": os.urandom(10_000)} for i in range(20)])
                except pymongo.errors.PyMongoError as error:
                    return acknowledged, error
                acknowledged += 20
        self.fail("a gigabyte went onto a disk of 64 MiB")

    def test_nothing_acknowledged_is_lost_when_the_disk_is_full(self):
        server = Server(dbpath=self.disk)
        self.addCleanup(server.discard)
        server.start()
        acknowledged, error = self.fill(server)
        self.assertGreater(acknowledged, 100)
        self.assertIsInstance(error, (pymongo.errors.OperationFailure, pymongo.errors.AutoReconnect))
        server.process.wait(60)
        self.assertGreaterEqual(server.process.returncode, 0, "it was killed by a signal")
        self.assertIn("No space left on device", server.log())

        # As long as there is no space the next start says so, in one line.
        code, said = run_server(*server.arguments())
        self.assertNotEqual(code, 0)
        self.assertIn("no space left", said)

        subprocess.run(["mount", "-o", "remount,size=600m", str(self.disk)], check=True)
        server.start()
        with server.client() as client:
            found = {d["_id"] for d in client.t.c.find({}, {"_id": 1})}
            missing = set(range(acknowledged)) - found
            self.assertFalse(missing, f"{len(missing)} of {acknowledged} acknowledged documents are gone")
            self.assertTrue(client.t.command("validate", "c")["valid"])
            client.t.c.insert_one({"_id": "after"})
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
