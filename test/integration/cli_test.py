"""The command line `troupe`: moving data in and out, looking at a server, and the demonstration."""
import csv
import datetime
import io
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import bson
import bson.raw_bson
import pymongo
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from replica_set_support import Set
from support import BIN, SLOWNESS, Server, ServerTest, eventually, free_port


def troupe(*arguments, stdin=None, timeout=60):
    """Runs the command line: (exit code, standard output, standard error)."""
    environment = {k: v for k, v in os.environ.items() if k != "TROUPE_URI"}
    done = subprocess.run([str(BIN / "troupe"), *map(str, arguments)], input=stdin, capture_output=True, text=True,
                          timeout=timeout * SLOWNESS, env=environment)
    return done.returncode, done.stdout, done.stderr


EVERY_TYPE = {
    "_id": 1, "double": 1.5, "nan": float("inf"), "string": "ü\t\"x\"", "document": {"a": {"b": [1, {"c": None}]}}, "binary": b"\x00\xff",
    "uuid": Binary(bytes(range(16)), 4), "id": ObjectId(), "bool": True, "date": datetime.datetime(1969, 12, 31, 23, 59, 59, 1000),
    "regex": Regex("^a/b", "im"), "code": Code("f()"), "scoped": Code("g()", {"n": Int64(1)}), "int": 1, "long": Int64(1),
    "timestamp": Timestamp(1, 2), "decimal": Decimal128("1.10"), "min": MinKey(), "max": MaxKey(), "null": None, "codes": [Code("h"), 1],
    "empty": {}, "none": [],
}


class CommandLineTest(ServerTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_on(self, command, *arguments, stdin=None):
        return troupe(command, "--uri", self.server.uri, *arguments, stdin=stdin)

    def transfer(self, command, collection, *arguments, stdin=None):
        return self.run_on(command, "--db", self.db.name, "--collection", collection, *arguments, stdin=stdin)

    def imported(self, text, *arguments, name="data.jsonl", collection="c"):
        path = self.folder / name
        path.write_text(text)
        return self.transfer("import", collection, path, *arguments)

    def all(self, collection="c"):
        return list(self.db[collection].find().sort("_id"))

    def test_every_type_survives_export_and_import(self):
        self.db.a.insert_one(EVERY_TYPE)
        for name in ("x.json", "x.jsonl"):
            with self.subTest(name):
                code, out, err = self.transfer("export", "a", "--out", self.folder / name)
                self.assertEqual((code, out), (0, ""), err)
                code, _, err = self.transfer("import", "b", self.folder / name, "--drop")
                self.assertEqual(code, 0, err)
                raw = bson.codec_options.CodecOptions(document_class=bson.raw_bson.RawBSONDocument)
                read = [self.db.get_collection(c, codec_options=raw).find_one().raw for c in "ab"]
                self.assertEqual(read[0], read[1])

    def test_many_documents_pass_through_a_pipe(self):
        self.db.a.insert_many({"_id": i, "text": "x" * 100} for i in range(25_000))
        code, out, err = self.transfer("export", "a")
        self.assertEqual((code, out.count("\n")), (0, 25_000), err)
        code, _, err = self.transfer("import", "c", "-", stdin=out)
        self.assertEqual((code, self.db.c.count_documents({})), (0, 25_000), err)

    def test_export_selects_sorts_and_limits(self):
        self.db.a.insert_many({"_id": i, "n": i % 3, "sub": {"t": f"v,{i}"}} for i in range(9))
        code, out, err = self.transfer("export", "a", "--query", '{"n": {"$gt": 0}}', "--sort", '{"_id": -1}', "--limit", 2,
                                       "--fields", "_id,sub.t", "--type", "csv")
        self.assertEqual(code, 0, err)
        self.assertEqual(list(csv.reader(io.StringIO(out))), [["_id", "sub.t"], ["8", "v,8"], ["7", "v,7"]])
        code, out, _ = self.transfer("export", "a", "--type", "json", "--relaxed", "--fields", "n", "--limit", 1)
        self.assertEqual((code, json.loads(out)), (0, [{"n": 0}]))
        code, _, err = self.transfer("export", "a", "--query", "{bad")
        self.assertEqual(code, 2)
        self.assertIn("--query", err)

    def test_csv_with_and_without_types(self):
        text = "_id,name,at.city,zip\n1,\"A \"\"B\"\"\",Rome,00100\n2,,Bern,3000\n"
        code, _, err = self.imported(text, "--types", name="p.csv")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.all(), [{"_id": 1, "name": 'A "B"', "at": {"city": "Rome"}, "zip": "00100"},
                                      {"_id": 2, "at": {"city": "Bern"}, "zip": 3000}])
        self.assertEqual(self.imported("7\tx\n", "--columns", "_id,n", name="p.tsv", collection="t")[0], 0)
        self.assertEqual(self.all("t"), [{"_id": "7", "n": "x"}])

    def test_errors_name_the_line_and_the_rest_goes_in(self):
        code, _, err = self.imported('{"_id": 1}\n{"_id": oops}\n\n{"_id": 1}\n{"_id": 2}\n')
        self.assertEqual(code, 1)
        self.assertIn("line 2:", err)
        self.assertRegex(err, "line 4: .*E11000")
        self.assertIn("2 documents of", err)
        self.assertEqual([d["_id"] for d in self.all()], [1, 2])

    def test_a_line_that_is_not_closed_costs_only_itself(self):
        for broken in ('{"_id": 2, "x": "y', '{"_id": 2, "x": {', '{"_id":', '{"_id": 2, "x": "y\\'):
            for name in ("data.jsonl", "data.ndjson"):
                with self.subTest(broken=broken, name=name):
                    code, _, err = self.imported('{"_id": 1}\n' + broken + '\n{"_id": 3}\n{"_id": 4}\n', "--drop", name=name)
                    self.assertEqual(code, 1)
                    self.assertRegex(err, "line 2: .*not closed at the end of its line")
                    self.assertIn("1 documents of", err)
                    self.assertEqual([d["_id"] for d in self.all()], [1, 3, 4])

    def test_stop_on_error_ends_at_the_first(self):
        code, _, err = self.imported('{"_id": 1}\n{"_id": 1}\n{"_id": 2}\n', "--stop-on-error")
        self.assertEqual(code, 1)
        self.assertIn("line 2:", err)
        self.assertEqual([d["_id"] for d in self.all()], [1])

    def test_upsert_key_replaces_and_inserts(self):
        self.db.c.insert_one({"_id": 1, "k": "a", "old": True})
        code, _, err = self.imported('{"k": "a", "n": 1}\n{"k": "b", "n": 2}\n{"n": 3}\n', "--upsert-key", "k")
        self.assertEqual(code, 1)
        self.assertIn("line 3:", err)
        self.assertEqual(sorted((d["k"], d["n"], "old" in d) for d in self.db.c.find()), [("a", 1, False), ("b", 2, False)])

    def test_wrong_usage_is_told_apart_from_no_server(self):
        self.assertEqual(troupe("no-such-command")[0], 2)
        self.assertEqual(troupe("import", "x.json")[0], 2)
        code, _, err = troupe("ping", "--uri", f"127.0.0.1:{free_port()}")
        self.assertEqual(code, 3)
        self.assertIn("Connection refused", err)
        with socket.create_server(("127.0.0.1", 0)) as frozen:  # the kernel takes the connection, nobody answers
            port = frozen.getsockname()[1]
            for command in ("ping", "status", "tree", "rs"):
                code, _, err = troupe(command, "--uri", f"mongodb://127.0.0.1:{port}/?socketTimeoutMS=200")
                self.assertEqual(code, 3, (command, err))
                self.assertIn("no answer", err)
        code, _, err = self.transfer("import", "c", self.folder / "missing.json")
        self.assertEqual(code, 1)
        self.assertIn("missing.json", err)
        code, out, _ = troupe("import", "--help")
        self.assertEqual(code, 0)
        self.assertIn("--upsert-key", out)

    def test_looks_at_the_server(self):
        code, out, err = self.run_on("ping")
        self.assertEqual(code, 0, err)
        code, out, err = self.run_on("tree")
        self.assertEqual(code, 0, err)
        self.assertIn("storage", out)
        self.assertIn("└─", out)
        self.assertNotIn("\x1b", out)
        code, out, err = self.run_on("top", "--sort", "path")
        self.assertEqual(code, 0, err)
        self.assertIn("msgs/s", out)
        code, out, err = self.run_on("actor", "listener")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^phase +\w+")
        self.assertEqual(self.run_on("actor", "nobody")[0], 1)
        self.assertIn("received, newest first", out)
        code, out, err = self.run_on("status")
        self.assertEqual(code, 0, err)
        self.assertIn("connections", out)


    def test_acts_on_an_actor_through_its_supervisor(self):
        def phase():
            return json.loads(self.run_on("actor", "idle-sweeper", "--json")[1])["row"]["phase"]
        code, out, err = self.run_on("actor", "idle-sweeper", "--action", "park", "--reason", "a test")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(phase(), "parked")
        self.assertEqual(self.run_on("actor", "idle-sweeper", "--action", "resume")[0], 0)
        self.assertTrue(eventually(lambda: phase() == "waiting"))
        self.assertEqual(self.run_on("actor", "idle-sweeper", "--action", "dance")[0], 2)
        code, _, err = self.run_on("actor", "/node", "--action", "park")
        self.assertEqual(code, 1)
        self.assertIn("has no supervisor", err)

    def test_prints_json_for_programs(self):
        self.db.c.insert_one({"_id": 1})
        def read(command, *arguments):
            code, out, err = self.run_on(command, *arguments, "--json")
            self.assertEqual((code, err), (0, ""))
            return json.loads(out)
        self.assertGreater(read("ping")["seconds"], 0)
        status = read("status")
        self.assertEqual(status["serverStatus"]["process"], "trouped")
        self.assertIn(self.db.name, [d["name"] for d in status["databases"]])
        lasting = lambda rows: [row["path"] for row in rows if "/conn" not in row["path"]]
        paths = lasting(read("tree"))
        self.assertIn("/node/storage", paths)
        self.assertEqual(paths, lasting(status["actors"]))
        below = [row["path"] for row in read("tree", "/node/storage")]
        self.assertEqual(below, [p for p in paths if p == "/node/storage" or p.startswith("/node/storage/")])
        rates = [row["handled"] for row in read("top", "--sort", "handled")]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertEqual(read("actor", "listener")["row"]["phase"], "listening")
        code, out, err = self.run_on("rs", "--json")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("NoReplicationEnabled", err)


class ReplicaSetTest(unittest.TestCase):
    def test_tells_what_a_member_did_before_it_was_killed(self):
        with Set(1) as members:
            member = members.initiate()
            with member.client(retryWrites=False) as client:
                moves = client.local["troupe.transitions"]
                self.assertTrue(eventually(lambda: moves.find_one({"to": "primary"})))
                # A kill leaves what the journal has: all that was written before a write that is journaled.
                client.local.get_collection("mark", write_concern=pymongo.WriteConcern(w=1, j=True)).insert_one({})
            member.kill()
            member.start()
            code, out, err = troupe("history", "--moves", "--limit", "0", "--uri", member.uri)
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"(?m)^\S+ \S+  /node/replication/topology  Initiate  startup → ")
            self.assertRegex(out, r"(?m)^    reply Done$")

    def test_shows_members_roles_and_the_term(self):
        with Set(2) as members:
            members.initiate()
            primary = members.settled()
            secondary = members.others(primary)[0]
            code, out, err = troupe("rs", "--uri", primary.uri)
            self.assertEqual(code, 0, err)
            self.assertRegex(out, rf"(?m)^term +{primary.term()}$")
            self.assertRegex(out, rf"(?m)^primary +{primary.name}$")
            self.assertRegex(out, rf"(?m)^{primary.name} +PRIMARY +this one")
            self.assertRegex(out, rf"(?m)^{secondary.name} +SECONDARY +\S+ \S+ ago +\d+ ms")
            code, out, err = troupe("rs", "--json", "--uri", secondary.uri)
            self.assertEqual(code, 0, err)
            self.assertEqual({m["name"]: m["stateStr"] for m in json.loads(out)["members"]}, {primary.name: "PRIMARY", secondary.name: "SECONDARY"})


class SimulatorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scenario = Path(folder.name) / "small.toml"

    def simulate(self, text, *arguments):
        self.scenario.write_text(text)
        return troupe("sim", "--scenario", self.scenario, "--quiet", *arguments)

    def test_runs_seeds_twice_and_writes_a_timeline(self):
        small = 'name = "small"\n[[fault]]\nkind = "kill"\nevery = "1s"\nfor = "500ms"\n[liveness]\nafter = "5s"\n'
        code, out, err = self.simulate(small, "--seed", 3, "--seeds", 2)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("2 seeds of 1 scenarios, each twice, 0 failed", out)
        timeline = self.scenario.with_suffix(".json")
        self.assertEqual(self.simulate(small, "--trace", timeline)[0], 0)
        trace = json.loads(timeline.read_text())
        self.assertEqual((trace["format"], trace["nodes"]), ("troupe-trace", ["n1:1", "n2:1", "n3:1"]))
        self.assertTrue(any(e["kind"] == "fault" and e["what"] == "kills" for e in trace["events"]))

    def test_a_set_that_fails_prints_how_to_run_it_again(self):
        code, out, _ = self.simulate('name = "late"\n[[fault]]\nkind = "kill"\nevery = "2900ms"\nfor = "1s"\nleave = 0\n'
                                     '[liveness]\nafter = "3s"\nconverge_within = "1ms"\n', "--seed", 5)
        self.assertEqual(code, 1)
        self.assertIn("FAILED  late: it does not come together again: ", out)
        self.assertIn(f"again: troupe sim --scenario {self.scenario} --seed 5", out)

    def test_a_mistake_in_a_scenario_is_named_with_its_line(self):
        code, _, err = self.simulate('name = "x"\n[topology]\nnods = 3\n')
        self.assertEqual(code, 2)
        self.assertIn("small.toml:3: [topology] knows no 'nods'; allowed: ", err)


class LogInTest(unittest.TestCase):
    def test_logs_in_with_both_mechanisms(self):
        with Server("--auth") as server:
            client = server.client()
            client.admin.command("createUser", "ann", pwd="p@ss:/word", roles=["root"])
            client.close()
            self.assertEqual(troupe("status", "--uri", server.uri)[0], 1)
            for mechanism in ("", "?authMechanism=SCRAM-SHA-1", "?authMechanism=SCRAM-SHA-256"):
                code, _, err = troupe("status", "--uri", f"mongodb://ann:p%40ss%3A%2Fword@127.0.0.1:{server.port}/{mechanism}")
                self.assertEqual(code, 0, err)
            code, _, err = troupe("status", "--uri", f"mongodb://ann:wrong@127.0.0.1:{server.port}/")
            self.assertEqual(code, 3)
            self.assertIn("Authentication failed", err)


def demonstrate(*arguments):
    done = subprocess.run([str(BIN / "troupe-demo"), *arguments], capture_output=True, text=True, timeout=400 * SLOWNESS)
    return done.returncode, done.stdout, done.stderr


class DemonstrationTest(unittest.TestCase):
    def test_answers_once_then_stays_up_without_loading_again(self):
        with tempfile.TemporaryDirectory() as folder:
            data = str(Path(folder) / "data")
            code, out, err = demonstrate("--once", "--dbpath", data, "--port", str(free_port()))
            self.assertEqual(code, 0, out + err)
            self.assertIn("by the index depends_1", out)
            self.assertIn("stopped cleanly", out)
            port = free_port()
            again = subprocess.Popen([str(BIN / "troupe-demo"), "--dbpath", data, "--port", str(port)], stdout=subprocess.PIPE, text=True)
            seen = ""
            for line in again.stdout:
                seen += line
                if "Ctrl-C" in line:
                    break
            self.assertIn("from an earlier run", seen)
            self.assertEqual(troupe("ping", "--uri", f"127.0.0.1:{port}")[0], 0)
            again.send_signal(signal.SIGINT)
            self.assertIn("stopped cleanly", again.stdout.read())
            self.assertEqual(again.wait(60 * SLOWNESS), 0)
            again.stdout.close()


if __name__ == "__main__":
    unittest.main()
