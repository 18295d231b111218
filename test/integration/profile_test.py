"""The profiler over real connections: what it records, for whom, and what it costs."""
import pymongo

from support import Server, ServerTest, eventually


class Profile(ServerTest):
    def profiled(self, **filter):
        return list(self.db["system.profile"].find(filter).sort("$natural", 1))

    def test_every_operation_is_recorded_and_found_at_once(self):
        with self.server.client(appname="shop") as client:
            db = client[self.db.name]
            db.command("profile", 2)
            db.c.insert_many({"_id": i, "x": i % 7} for i in range(300))
            list(db.c.find({"x": 3}, batch_size=10))
            db.command("profile", 0)
        first = self.profiled(op="query")[0]
        self.assertEqual((first["ns"], first["appName"], first["client"], first["planSummary"]), (f"{self.db.name}.c", "shop", "127.0.0.1", "COLLSCAN"))
        more = self.profiled(op="getmore")
        self.assertEqual(sum(record["nreturned"] for record in more) + first["nreturned"], 43)
        self.assertEqual({record["originatingCommand"]["find"] for record in more}, {"c"})
        self.assertTrue(more[-1]["cursorExhausted"])
        self.assertEqual(self.profiled(op="insert")[0]["ninserted"], 300)

    def test_the_collection_is_capped_at_a_megabyte_and_dropped_when_profiling_is_off(self):
        self.db.command("profile", 2)
        for _ in range(2000):
            self.db.c.find_one({"text": "x" * 1000})
        options = self.db["system.profile"].options()
        self.assertEqual((options["capped"], options["size"]), (True, 1024 * 1024))
        self.assertLess(self.db.command("collStats", "system.profile")["size"], 1100 * 1024)
        self.assertFails(20, self.db.drop_collection, "system.profile")
        self.db.command("profile", 0)
        self.db.drop_collection("system.profile")
        self.assertNotIn("system.profile", self.db.list_collection_names())

    def test_a_profile_can_be_tailed(self):
        self.db.command("profile", 2)
        self.db.c.find_one()
        cursor = self.db["system.profile"].find({"command.comment": "awaited"}, cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
        self.assertIsNone(next(cursor, None))
        with self.server.client() as other:
            other[self.db.name].c.find_one({}, comment="awaited")
        found = []
        self.assertTrue(eventually(lambda: found.append(next(cursor, None)) or found[-1] is not None))
        self.assertEqual(found[-1]["command"]["find"], "c")


class ProfileOfALife(ServerTest):
    def test_settings_end_with_the_process_and_records_stay(self):
        with Server() as server:
            with server.client() as client:
                client.d.command("profile", 2)
                client.d.c.find_one({}, comment="before")
                client.d.command("profile", 2)
                client.admin.command("fsync")
            server.kill()
            server.start()
            with server.client() as client:
                self.assertEqual(client.d.command("profile", -1)["was"], 0)
                self.assertEqual(client.d["system.profile"].count_documents({"command.comment": "before"}), 1)
