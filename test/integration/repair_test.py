"""`trouped --repair`: a damaged data directory is mended as far as possible, and serves again."""
import unittest

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
        code, said = run_server("--repair", "--dbpath", str(self.server.dbpath), "--port", str(self.server.port), timeout=120)
        self.assertEqual(code, 0, said)

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

    def test_what_can_be_read_of_a_damaged_table_is_kept(self):
        damaged = self.table("a")
        with damaged.open("r+b") as file:
            file.seek(damaged.stat().st_size // 2)
            file.write(b"X" * 4096)
        self.repair()
        self.server.start()
        self.check("a", 1)
        self.check("b", 5000)


if __name__ == "__main__":
    unittest.main()
