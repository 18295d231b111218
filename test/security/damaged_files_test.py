"""Damaged files: each damage is detected by the start, a read or a validation, or the data are right all the same. Never a wrong document, never
a process ended by a signal. One thing cannot be told from a kill: a log whose end is missing. What it held is then lost, and nothing else: the
documents are those of an earlier moment. TROUPE_DAMAGED_FILES says how many copies are tried (500 in a full run)."""
import collections
import json
import os
import re
import shutil
import tempfile
import time
import unittest
from pathlib import Path

import bson
import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from damaged_files import make_copy
from support import SLOWNESS, Server, eventually, run_server

COPIES = int(os.environ.get("TROUPE_DAMAGED_FILES", "40"))
SEED = os.environ.get("TROUPE_DAMAGED_FILES_SEED", "1")
DOCUMENTS = 1500
LATE_DOCUMENTS = 300  # of a killed server: in the log only
NAMES = ("plain", "clustered", "arrays")
# What a read of damaged data may be answered with: DataCorruptionDetected, and what follows when the engine gives up.
DETECTED = (301, 91, 11600)
# What is said of data that every other start would find as they are, and the end of a process that hangs meanwhile, whatever it says.
NEEDS_OPERATOR, HANGS = re.compile("damaged|restore|resync|--repair"), "and the process went on"
OF_FORMAT, OF_DATA, OF_ANYTHING = 62, 65, 100  # exit codes; after the first two nobody starts the server again
READY = '"id" : 23017,'  # in the log


def document(name, i):
    text = f"{name} {i} " * (10 + i % 30)
    return {"_id": i, "x": [i % 10, i % 7] if name == "arrays" else i % 10, "text": text}


def ends_log(what, original):
    """Whether the damage may look like the end of the log, as a kill leaves it: an end that is missing, or a last record that is not whole."""
    if not what.startswith("journal/"):
        return False
    flipped = re.fullmatch(r"(.*): bit \d of byte (\d+) flipped", what)
    return not flipped or int(flipped[2]) >= last_record((original / flipped[1]).read_bytes())


def last_record(log):
    """Where the last record of a file of the log begins: each has its length in front, and begins at a multiple of 128 bytes."""
    at = last = 0
    while at + 4 <= len(log) and (length := int.from_bytes(log[at:at + 4], "little")):
        last = at
        at += -(-length // 128) * 128
    return last


def fill(server):
    with server.client() as client:
        client.t.create_collection("clustered", clusteredIndex={"key": {"_id": 1}, "unique": True})
        for name in NAMES:
            # Journaled: a kill loses none of them.
            collection = client.t.get_collection(name, write_concern=pymongo.WriteConcern(j=True))
            collection.create_index("x")
            for begin in range(0, DOCUMENTS, 500):
                collection.insert_many(document(name, i) for i in range(begin, begin + 500))


def reason_in(said):
    """The line on standard error with which a process ends; empty: there is none."""
    return next((line for line in reversed(said.splitlines()) if line.startswith("trouped: ")), "")


class Detected(Exception):
    """The damage was detected; why."""


class DamagedFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="troupe-damage-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.originals = []
        for name, end in (("stopped", Server.stop), ("killed", Server.kill)):
            server = Server()
            server.start()
            fill(server)
            if name == "killed":  # tables have a checkpoint, the log what came after it
                with server.client() as client:
                    client.admin.command("fsync")
                    for each in NAMES:
                        collection = client.t.get_collection(each, write_concern=pymongo.WriteConcern(j=True))
                        collection.insert_many(document(each, i) for i in range(DOCUMENTS, DOCUMENTS + LATE_DOCUMENTS))
            end(server)
            cls.originals.append((server.dbpath, DOCUMENTS + (LATE_DOCUMENTS if name == "killed" else 0)))
            cls.addClassCleanup(server.discard)

    def read_all(self, server, documents, log_is_cut):
        """Every way to the data; returns if all of them are right, raises Detected, or fails."""
        options = CodecOptions(document_class=RawBSONDocument)
        try:
            with server.client(socketTimeoutMS=int(20_000 * SLOWNESS), retryReads=False) as client:
                for name in NAMES:
                    collection = client.t.get_collection(name)
                    self.compare(name, collection.find({}), documents, log_is_cut)
                    self.compare(name, collection.find({"x": {"$gte": 0}}).hint("x_1"), documents, log_is_cut)
                    for i in (0, 7, DOCUMENTS - 1):
                        self.assertEqual(collection.find_one({"_id": i}), document(name, i))
                    raw = client.t.get_collection(name, options).find_one({"_id": 3})
                    self.assertEqual(raw.raw, bson.encode(document(name, 3)))
                    result = client.t.command("validate", name, full=True)
                    if not result["valid"]:
                        raise Detected(f"validation: {result['errors']}")
        except pymongo.errors.OperationFailure as error:
            self.assertIn(error.code, DETECTED, error)
            raise Detected(f"error {error.code}: {error}") from error
        except pymongo.errors.ConnectionFailure as error:
            server.process.wait(30 * SLOWNESS)
            raise Detected("the server ended") from error

    def compare(self, name, found, documents, log_is_cut):
        found = {each["_id"]: each for each in found}
        wrong = [each for i, each in found.items() if each != document(name, i)]
        self.assertEqual(wrong[:1], [], "a wrong document was returned")
        if log_is_cut:
            self.assertEqual(sorted(found), list(range(len(found))))
            self.assertGreaterEqual(len(found), DOCUMENTS)
        else:
            self.assertEqual(len(found), documents, f"documents of {name} are missing and nothing was said")

    def check_end(self, server, what):
        """After its end by itself: not by a signal, and for a reason that the log has."""
        code = server.process.wait(30 * SLOWNESS)
        self.assertGreaterEqual(code, 0, f"ended by a signal: {server.log_tail()}")
        self.assertNotEqual(code, 0)
        said = server.log()
        self.assertNotEqual(reason_in(said), "", "no reason is on standard error")
        if READY in said:
            self.assertEqual(code, OF_ANYTHING, "the next start may find another page")
        else:
            self.check_code(what, code, said, (OF_FORMAT, OF_DATA))

    def check_code(self, what, code, said, of_damage):
        """Of a start or a repair that was refused. One that says what an operator has to do must not be tried again and again."""
        reason = reason_in(said)
        if what.startswith("troupe.format"):
            self.assertEqual(code, OF_FORMAT, said)
        elif NEEDS_OPERATOR.search(reason) and HANGS not in reason:
            self.assertIn(code, of_damage, said)
        else:
            self.assertIn(code, (*of_damage, OF_ANYTHING), said)

    def try_copy(self, number):
        original, documents = self.originals[number % 2]
        target = self.folder / f"copy-{number}"
        what = make_copy(original, target, SEED, number)
        server = Server(dbpath=target)
        try:
            with self.subTest(number=number, what=what):
                try:
                    server.start()
                except AssertionError:
                    self.assertIsNotNone(server.process.poll(), f"it hangs: {server.log_tail()}")
                    self.check_end(server, what)
                    return "refused"
                try:
                    self.read_all(server, documents, ends_log(what, original))
                except Detected as found:
                    if server.running() and "the server ended" not in str(found):
                        server.kill()
                        return "detected"
                    self.check_end(server, what)
                    return "ended"
                self.assertIn(server.stop(), (0, 100))
                return "right"
        finally:
            server.discard()
            shutil.rmtree(target, ignore_errors=True)
        return "FAILED"

    def test_each_damage_is_detected_or_harms_nothing(self):
        outcomes = collections.Counter(self.try_copy(number) for number in range(COPIES))
        print(f"      {dict(outcomes)}", flush=True)
        self.assertGreater(outcomes["refused"] + outcomes["ended"] + outcomes["detected"], COPIES // 3)

    def test_a_repair_leaves_right_documents_only(self):
        for number in range(COPIES // 4):
            original, documents = self.originals[number % 2]
            target = self.folder / f"repaired-{number}"
            what = make_copy(original, target, SEED, f"repair {number}")
            server = Server(dbpath=target)
            log = server.folder / "repair.log"
            with self.subTest(number=number, what=what):
                code, said = run_server("--repair", "--dbpath", str(target), "--port", str(server.port), "--logpath", str(log), timeout=120)
                if code == 0:
                    server.start()
                    self.check_repaired(server, (what, original), documents, [json.loads(line) for line in log.read_text().splitlines()])
                    self.assertEqual(server.stop(), 0)
                else:
                    self.check_refusal(what, code, said)
            server.discard()
            shutil.rmtree(target, ignore_errors=True)

    def check_refusal(self, what, code, said):
        """Nothing is repaired where the mark of the format is damaged, or what cannot be made anew."""
        self.assertNotEqual(reason_in(said), "")
        self.check_code(what, code, said, (OF_DATA,))

    def check_repaired(self, server, damage, documents, lines):
        what, original = damage
        report = next(line["attr"] for line in lines if line["id"] == 22261)
        self.assertEqual(report["beyondRepair"], [])
        lost = {row["ns"]: row for row in report["lost"]}
        # Its log or its own metadata were damaged: what only the log held, from some moment on, may be gone with it.
        said = [line["msg"] for line in lines if line["id"] == 22431]
        cut = any("own files are damaged" in line or "in the log is given up" in line for line in said)
        self.assertFalse(cut and what.startswith(("collection-", "index-")), f"a table's damage cut the log: {what}")
        cut = cut or ends_log(what, original)
        late = LATE_DOCUMENTS if documents > DOCUMENTS and cut else 0
        with server.client() as client:
            names = set(client.t.list_collection_names())
            orphans = [name for name in client.local.list_collection_names() if name.startswith("orphan.")]
            self.assertLessEqual(names, set(NAMES))
            for name in sorted(names):
                self.check_collection(client.t[name], name, documents, late, lost.pop(f"t.{name}", None))
            self.assertEqual(lost, {}, "documents were lost of collections that were never there")
            nameless = {self.check_orphan(client.local[orphan], documents, late) for orphan in orphans}
            self.assertEqual((names | nameless, len(names) + len(orphans)), (set(NAMES), len(NAMES)), "each is there once")

    def check_collection(self, collection, name, documents, late, lost):
        """`late`: documents that may be gone from its end; `lost`: what the repair says of it, or None."""
        found = {each["_id"]: each for each in collection.find({})}
        self.assertEqual([each for i, each in found.items() if each != document(name, i)], [])
        self.assertLessEqual(set(found), set(range(documents)))
        self.assertTrue(collection.database.command("validate", collection.name, full=True)["valid"])
        self.assertEqual(collection.estimated_document_count(), len(found))
        missing, told = documents - len(found), lost["documents"] if lost else 0
        if lost and not lost["exact"]:
            late = max(late, documents - DOCUMENTS)  # the number that was stored last was that of the checkpoint
        self.assertLessEqual(told, missing, lost)
        self.assertLessEqual(missing - told, late, f"documents of {name} are lost and nothing was said")

    def check_orphan(self, collection, documents, late):
        """The name of the collection that its documents belong to."""
        name = collection.find_one({})["text"].split(" ", 1)[0]
        self.check_collection(collection, name, documents, late, None)
        return name


class Scrubber(unittest.TestCase):
    """A damaged block in a table that nobody reads."""

    def setUp(self):
        self.server = Server("--setParameter", "scrubberSleepSecs=1")
        self.addCleanup(self.server.discard)
        self.server.start()
        fill(self.server)

    def scrub(self):
        with self.server.client() as client:
            return client.admin.command("serverStatus")["metrics"]["scrub"]

    def damage(self, name):
        with self.server.client() as client:
            ident = next(client.t[name].aggregate([{"$listCatalog": {}}]))["ident"]
        self.assertEqual(self.server.stop(), 0)
        path = self.server.dbpath / f"{ident}.wt"
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 1
        path.write_bytes(content)
        self.server.start()
        return ident

    def test_reports_damage_and_the_server_goes_on(self):
        with self.server.client() as client:
            client.admin.command("fsync")  # what no checkpoint has written is not on the disk
        self.assertTrue(eventually(lambda: self.scrub()["bytes"] > 100_000 and self.scrub()["cycles"] > 1, 30))
        self.assertEqual(self.scrub()["damagedTables"], 0)
        ident = self.damage("plain")
        self.assertTrue(eventually(lambda: self.scrub()["damagedTables"] == 1, 30))
        self.assertTrue(self.server.running())
        line = next(line for line in self.server.log().splitlines() if '"id" : 22447' in line)
        self.assertIn('"of" : "t.plain"', line)
        self.assertIn(f"{ident}.wt", line)
        with self.server.client() as client:
            self.assertEqual(client.t.arrays.count_documents({}), DOCUMENTS)
            result = client.t.command("validate", "plain", full=True)
            self.assertFalse(result["valid"])
            self.assertIn(ident, result["errors"][0])
            self.assertTrue(client.t.command("validate", "arrays", full=True)["valid"])
        self.assertTrue(self.server.running())

    def test_writers_beside_it_are_no_damage(self):
        with self.server.client() as client:
            before = self.scrub()["cycles"]
            deadline = time.monotonic() + 60 * SLOWNESS
            while self.scrub()["cycles"] < before + 3 and time.monotonic() < deadline:
                client.t.plain.update_many({}, {"$inc": {"n": 1}})
                client.admin.command("fsync")
        self.assertGreaterEqual(self.scrub()["cycles"], before + 3)
        self.assertEqual(self.scrub()["damagedTables"], 0)


if __name__ == "__main__":
    unittest.main()
