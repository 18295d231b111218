"""A replica set on one machine: `troupe cluster`, and the demonstration that kills its primary."""
import json
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import pymongo

from support import BIN, SLOWNESS, eventually, free_ports


class ClusterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-integration-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "set"
        self.port = free_ports(3)
        self.addCleanup(self.cluster, "stop")

    def cluster(self, *arguments, program=BIN / "troupe", env=None, timeout=200):
        """(exit code, standard output, standard error)"""
        done = subprocess.run([str(program), "cluster", *map(str, arguments), "--dir", str(self.folder)], capture_output=True, text=True,
                              timeout=timeout * SLOWNESS, env=env)
        return done.returncode, done.stdout, done.stderr

    def told(self, *arguments):
        code, out, err = self.cluster(*arguments, "--json")
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def started(self, *arguments):
        return self.told("start", "--port", self.port, *arguments)

    def client(self, told, **options):
        client = pymongo.MongoClient(told["uri"], serverSelectionTimeoutMS=int(30_000 * SLOWNESS), **options)
        self.addCleanup(client.close)
        return client

    def test_one_command_makes_a_set_and_the_same_one_brings_it_up_again(self):
        told = self.started()
        self.assertTrue(told["ready"])
        self.assertEqual([(m["member"], m["port"]) for m in told["members"]], [(i + 1, self.port + i) for i in range(3)])
        self.assertEqual(sorted(m["state"] for m in told["members"]), ["PRIMARY", "SECONDARY", "SECONDARY"])
        client = self.client(told)
        client.db.get_collection("c", write_concern=pymongo.WriteConcern(3)).insert_one({"_id": 1})
        again = self.told("start")
        self.assertEqual([m["pid"] for m in again["members"]], [m["pid"] for m in told["members"]], "running ones are left alone")
        code, out, err = self.cluster("stop")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("3 members have stopped", out)
        for member in told["members"]:
            self.assertIn("Now exiting", Path(member["log"]).read_text(), "each has stopped in order")
        self.assertEqual([m["state"] for m in self.told("status")["members"]], ["down"] * 3)
        self.assertIn("was not running", self.cluster("stop")[1])
        again = self.told("start")
        self.assertEqual(again["uri"], told["uri"])
        self.assertEqual(client.db.c.find_one(), {"_id": 1})

    def test_a_killed_member_is_shown_and_comes_back(self):
        told = self.started()
        primary = next(m["member"] for m in told["members"] if m["state"] == "PRIMARY")
        code, out, err = self.cluster("kill", primary)
        self.assertEqual((code, out, err), (0, f"Member {primary} was killed.\n", ""))
        self.assertIn("was not running", self.cluster("kill", primary)[1])

        def state(member):
            return self.told("status")["members"][member - 1]["state"]
        self.assertEqual(state(primary), "down")
        self.assertTrue(eventually(lambda: "PRIMARY" in [m["state"] for m in self.told("status")["members"]], 60))
        restarted = self.told("restart", primary)["members"][primary - 1]
        self.assertIn(restarted["state"], ("PRIMARY", "SECONDARY"))
        other = primary % 3 + 1
        before = self.told("status")["members"][other - 1]["pid"]
        self.assertNotEqual(self.told("restart", other)["members"][other - 1]["pid"], before)

    def test_a_member_whose_disk_is_lost_copies_the_data_again(self):
        told = self.started()
        self.client(told).db.get_collection("c", write_concern=pymongo.WriteConcern(3)).insert_one({"_id": 1})
        lost = next(m for m in told["members"] if m["state"] == "SECONDARY")
        self.cluster("kill", lost["member"])
        subprocess.run(["rm", "-r", str(Path(lost["dataFolder"]).parent)], check=True)
        self.assertEqual(self.told("restart", lost["member"])["members"][lost["member"] - 1]["state"], "SECONDARY")
        with pymongo.MongoClient(f"mongodb://{lost['name']}/?directConnection=true&readPreference=secondaryPreferred") as direct:
            self.assertEqual(direct.db.c.find_one(), {"_id": 1})

    def test_the_table_and_the_size_of_the_log(self):
        code, out, err = self.cluster("start", "--members", 1, "--port", self.port, "--oplogSize", 77)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, rf"(?m)^connection +mongodb://127.0.0.1:{self.port}/\?replicaSet=rs0")
        self.assertRegex(out, rf"(?m)^ +1 +PRIMARY +\d+ +{self.port} ")
        with self.client(self.told("status")) as client:
            self.assertEqual(client.local.command("collStats", "oplog.rs")["maxSize"], 77 << 20)
        self.assertTrue(self.told("start", "--oplogSize", 77)["ready"], "what the set is")
        code, out, err = self.cluster("start", "--oplogSize", 78)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("has logs of 77 MiB, which the command replSetResizeOplog changes", err)

    def test_refuses_what_cannot_be(self):
        def fails(code, message, *arguments, **options):
            got, out, err = self.cluster(*arguments, **options)
            self.assertEqual((got, out), (code, ""), err)
            self.assertIn(message, err)
        fails(1, "there is no replica set in", "status")
        fails(2, "name the member: troupe cluster kill N", "kill")
        fails(2, "ACTION: ", "dance")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.port + 1))
            taken.listen()
            fails(1, f"the port {self.port + 1} of member 2 is in use by another program", "start", "--port", self.port)
        alone = Path(self.folder).parent / "troupe"
        alone.write_bytes((BIN / "troupe").read_bytes())
        alone.chmod(0o755)
        fails(1, "there is no program", "start", "--port", self.port, program=alone, env={"PATH": "/nowhere"})
        self.assertFalse(self.folder.exists())
        self.folder.joinpath("letters").mkdir(parents=True)
        fails(1, "holds something else than a local replica set", "start")

    def test_refuses_another_set_than_the_one_that_is_there(self):
        self.started("--members", 1)
        code, _, err = self.cluster("start", "--members", 3)
        self.assertEqual(code, 1)
        self.assertIn("has 1 members", err)
        code, _, err = self.cluster("kill", 2)
        self.assertEqual(code, 1)
        self.assertIn("there is no member 2; the set has members 1 to 1", err)

    def test_a_member_that_cannot_start_says_why(self):
        self.started("--members", 1)
        self.assertEqual(self.cluster("stop")[0], 0)
        (self.folder / "member1" / "data" / "WiredTiger.turtle").write_text("nonsense")
        code, _, err = self.cluster("start")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"member 1 has ended: trouped: .*; its log is .*/member1/trouped\.log")


class DemonstrationTest(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_when_the_primary_is_killed(self):
        with tempfile.TemporaryDirectory(prefix="troupe-integration-") as folder:
            done = subprocess.run([str(BIN / "troupe-demo"), "--members", "3", "--once", "--dbpath", f"{folder}/set", "--port", str(free_ports(3))],
                                  capture_output=True, text=True, timeout=600 * SLOWNESS)
            logs = "".join("\n".join(log.read_text(errors="replace").splitlines()[-20:]) for log in Path(folder).rglob("*.log"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr + logs)
            self.assertRegex(done.stdout, r"[1-9][\d,]* packages are here, too")
            self.assertRegex(done.stdout, r"[1-9][\d,]* writes were acknowledged by a majority; SIGKILL")
            self.assertRegex(done.stdout, r"member \d leads now, in term [2-9]")
            self.assertRegex(done.stdout, r"writers waited [\d.]+ m?s at most")
            self.assertRegex(done.stdout, r"[1-9][\d,]* writes were acknowledged in all, 0 of them are lost")
            self.assertIn("of the acknowledged writes it lacks 0", done.stdout)
            self.assertIn("has stopped cleanly: 3 members", done.stdout)


if __name__ == "__main__":
    unittest.main()
