"""`trouped --repair`: a damaged data directory is mended as far as possible, and serves again."""
import json
import unittest

import pymongo

from support import Server, run_server


class Repair(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.discard)
        self.server.start()
        with self.server.client() as client:
            for name in ("a", "b"):
                client.t[name].insert_many({"_id": i, "x": i % 10, "text": "x" * 500} for i in range(5000))
                client.t[name].create_index("x")
        self.assertEqual(self.server.restart().stop(), 0)

    def repair(self):
        log = self.server.folder / "repair.log"
        log.unlink(missing_ok=True)
        code, said = run_server("--repair", "--dbpath", str(self.server.dbpath), "--port", str(self.server.port), "--logpath", str(log),
                                timeout=120)
        self.assertEqual(code, 0, said)
        return [json.loads(line) for line in log.read_text().splitlines()]

    def table(self, name, index=None):
        """The file of a collection's table, or of one of its indexes."""
        self.server.start()
        with self.server.client() as client:
            row = next(client.t[name].aggregate([{"$listCatalog": {}}]))
        self.assertEqual(self.server.stop(), 0)
        return self.server.dbpath / ((row["idxIdent"][index] if index else row["ident"]) + ".wt")

    def check(self, name, least):
        with self.server.client() as client:
            found = {d["_id"]: d for d in client.t[name].find({})}
            self.assertGreaterEqual(len(found), least)
            self.assertTrue(all(d["x"] == d["_id"] % 10 for d in found.values()))
            self.assertEqual(client.t[name].count_documents({"x": 3}), sum(d["x"] == 3 for d in found.values()))
            result = client.t.command("validate", name, full=True)
            self.assertTrue(result["valid"], result)
            client.t[name].insert_one({"_id": "new", "x": 3})

    def test_what_is_sound_stays_as_it_is(self):
        self.repair()
        self.server.start()
        for name in ("a", "b"):
            self.check(name, 5000)

    def test_a_lost_index_is_built_again(self):
        self.table("a", "x_1").unlink()
        self.repair()
        self.server.start()
        self.check("a", 5000)
        self.check("b", 5000)

    def damage(self, path):
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"X" * 4096)

    def count(self, name):
        with self.server.client() as client:
            found = client.t[name].count_documents({})
            self.assertEqual(client.t[name].estimated_document_count(), found)
            return found

    def report(self, lines):
        return next(line["attr"] for line in lines if line["id"] == 22261)

    def test_what_can_be_read_of_a_damaged_table_is_kept_and_what_is_lost_is_said(self):
        self.damage(self.table("a"))
        lines = self.repair()
        self.server.start()
        left = self.count("a")
        self.assertLess(left, 5000)
        self.assertEqual(self.report(lines)["lost"], [{"ns": "t.a", "documents": 5000 - left, "exact": True}])
        with self.server.client() as client:
            gone = next(i for i in range(5000) if client.t.a.find_one({"_id": i}) is None)
        line = next(line["msg"] for line in lines if "t.a lost" in line["msg"])
        self.assertRegex(line, rf"t\.a lost {5000 - left} documents, the first of them: .*_id: {gone}\b")
        self.check("a", 1)
        self.check("b", 5000)

    def test_without_the_index_of_ids_another_one_says_how_many_are_lost(self):
        records, ids = self.table("a"), self.table("a", "_id_")
        self.damage(records)
        ids.unlink()
        lines = self.repair()
        self.server.start()
        self.assertEqual(self.report(lines)["lost"], [{"ns": "t.a", "documents": 5000 - self.count("a"), "exact": True}])
        self.check("a", 1)

    def test_after_a_kill_a_damaged_table_costs_no_other_table_what_the_log_holds(self):
        for damaged in ("x_1", "_id_", None):
            with self.subTest(damaged=damaged):
                path = self.table("a", damaged)
                self.server.start()
                with self.server.client() as client:
                    client.admin.command("fsync")
                    for name in ("a", "b"):
                        journaled = client.t.get_collection(name, write_concern=pymongo.WriteConcern(j=True))
                        before = journaled.count_documents({})
                        journaled.insert_many({"_id": i, "x": i % 10} for i in range(before, before + 1000))
                self.server.kill()
                content = bytearray(path.read_bytes())
                for at in range(len(content) // 2, len(content), 512):  # the log meets it
                    content[at + 100] ^= 1
                path.write_bytes(content)
                lines = self.repair()
                self.server.start()
                left = self.count("a")
                self.assertEqual(self.count("b"), before + 1000)
                lost = [] if damaged else [{"ns": "t.a", "documents": before + 1000 - left, "exact": True}]
                self.assertEqual(self.report(lines)["lost"], lost)
                self.assertEqual(left < before + 1000, damaged is None)
                with self.server.client() as client:
                    for name in ("a", "b"):
                        self.assertTrue(client.t.command("validate", name, full=True)["valid"])
                self.server.stop()

    def test_without_an_index_the_stored_number_says_how_many_are_lost(self):
        records, indexes = self.table("a"), [self.table("a", "_id_"), self.table("a", "x_1")]
        self.damage(records)
        for index in indexes:
            index.unlink()
        lines = self.repair()
        self.server.start()
        self.assertEqual(self.report(lines)["lost"], [{"ns": "t.a", "documents": 5000 - self.count("a"), "exact": False}])
        self.check("a", 1)

    def test_a_large_lost_index_is_built_again(self):
        self.server.start()
        with self.server.client() as client:
            client.t.a.insert_many({"_id": i, "x": i % 10} for i in range(5000, 25_000))
        self.assertEqual(self.server.stop(), 0)
        self.table("a", "x_1").unlink()
        self.repair()
        self.server.start()
        self.check("a", 25_000)

    def test_lost_counts_are_made_again(self):
        self.assertEqual(self.server.stop() if self.server.running() else 0, 0)
        (self.server.dbpath / "sizeStorer.wt").unlink()
        self.assertEqual(self.report(self.repair())["lost"], [])
        self.server.start()
        self.assertEqual((self.count("a"), self.count("b")), (5000, 5000))

    def test_documents_of_a_collection_that_a_damaged_catalog_lost_are_kept(self):
        catalog = self.server.dbpath / "_mdb_catalog.wt"
        self.damage_all(catalog)
        lines = self.repair()
        self.server.start()
        with self.server.client() as client:
            orphans = [name for name in client.local.list_collection_names() if name.startswith("orphan.")]
            self.assertEqual(len(orphans), 2, [line["msg"] for line in lines])
            for name in orphans:
                self.assertEqual({d["_id"] for d in client.local[name].find({})}, set(range(5000)))
                self.assertTrue(client.local.command("validate", name, full=True)["valid"])

    def test_a_lost_catalog_is_not_taken_for_a_new_directory(self):
        (self.server.dbpath / "_mdb_catalog.wt").unlink()
        self.refused()
        self.repair()
        self.server.start()
        with self.server.client() as client:
            orphans = [name for name in client.local.list_collection_names() if name.startswith("orphan.")]
            self.assertEqual([client.local[name].count_documents({}) for name in orphans], [5000, 5000])

    def refused(self):
        code, said = run_server("--dbpath", str(self.server.dbpath), "--port", str(self.server.port), timeout=60)
        self.assertEqual(code, 65, said)
        self.assertIn("--repair", said)

    def test_a_repair_that_was_killed_has_to_be_done_again(self):
        mark = self.server.dbpath / "troupe.repair"
        mark.write_text("")
        self.refused()
        self.repair()
        self.assertFalse(mark.exists())
        self.server.start()
        self.check("a", 5000)

    def damage_all(self, path):
        """All blocks of rows: what a salvage finds is an empty table."""
        content = bytearray(path.read_bytes())
        for at in range(512, len(content), 512):
            content[at + 100] ^= 0xFF
        path.write_bytes(content)


if __name__ == "__main__":
    unittest.main()
