"""Logical sessions on one server."""
import uuid

import bson
import pymongo

from support import ServerTest


def lsid():
    return {"id": bson.Binary.from_uuid(uuid.uuid4())}


class Sessions(ServerTest):
    def test_the_driver_uses_them(self):
        with self.client.start_session() as session:
            self.db.c.insert_many([{"_id": i} for i in range(300)], session=session)
            self.assertEqual(len(list(self.db.c.find({}, session=session))), 300)

    def test_start_refresh_end(self):
        started = self.client.admin.command("startSession")
        self.assertEqual((started["ok"], started["timeoutMinutes"]), (1.0, 30))
        session = {"id": bson.Binary.from_uuid(started["id"]["id"])}
        self.assertEqual(self.client.admin.command("refreshSessions", [session])["ok"], 1)
        self.assertEqual(self.client.admin.command("endSessions", [session])["ok"], 1)

    def test_ending_a_session_ends_its_cursors(self):
        self.db.c.insert_many({"_id": i} for i in range(300))
        with self.server.raw() as raw:
            mine = lsid()
            found = raw.command({"find": "c", "batchSize": 2, "lsid": mine, "$db": self.db.name})
            cursor = found["cursor"]["id"]
            self.assertEqual(raw.command({"endSessions": [mine], "$db": "admin"})["ok"], 1)
            self.assertEqual(raw.command({"getMore": cursor, "collection": "c", "lsid": mine, "$db": self.db.name})["code"], 43)

    def test_a_cursor_belongs_to_its_session(self):
        self.db.c.insert_many({"_id": i} for i in range(300))
        with self.server.raw() as raw:
            cursor = raw.command({"find": "c", "batchSize": 2, "lsid": lsid(), "$db": self.db.name})["cursor"]["id"]
            self.assertEqual(raw.command({"getMore": bson.Int64(cursor), "collection": "c", "lsid": lsid(), "$db": self.db.name})["code"], 50738)

    def test_malformed_ids(self):
        with self.server.raw() as raw:
            for bad, code in (({"id": 5}, 14), ({"id": bson.Binary(b"short", 4)}, 207), ({"x": 1}, 40414), (5, 14)):
                with self.subTest(bad=bad):
                    self.assertEqual(raw.command({"ping": 1, "lsid": bad, "$db": "admin"})["code"], code)

    def test_transactions_need_a_replica_set(self):
        with self.client.start_session() as session:
            with self.assertRaises((pymongo.errors.OperationFailure, pymongo.errors.ConfigurationError)) as caught:
                with session.start_transaction():
                    self.db.c.insert_one({}, session=session)
            self.assertIn("Transaction numbers are only allowed on a replica set member or mongos", str(caught.exception))

    def test_killing_sessions(self):
        self.db.c.insert_many({"_id": i} for i in range(300))
        with self.server.raw() as raw:
            mine = lsid()
            cursor = raw.command({"find": "c", "batchSize": 2, "lsid": mine, "$db": self.db.name})["cursor"]["id"]
            self.assertEqual(self.client.admin.command("killSessions", [mine])["ok"], 1)
            self.assertEqual(raw.command({"getMore": cursor, "collection": "c", "lsid": mine, "$db": self.db.name})["code"], 43)
