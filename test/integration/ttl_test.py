"""Documents that expire, on a real server: removed while writers go on, also after a kill, and seen by operators."""
import datetime
import threading

import pymongo

from support import Server, ServerTest, eventually


def ago(seconds):
    return datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)


class Ttl(ServerTest):
    def passes(self):
        return self.client.admin.command("serverStatus")["metrics"]["ttl"]

    def setUp(self):
        super().setUp()
        self.client.admin.command("setParameter", 1, ttlMonitorSleepSecs=1)

    def test_documents_expire_beside_writers(self):
        self.db.c.create_index("at", expireAfterSeconds=60)
        ended = threading.Event()
        written = []

        def write():
            while not ended.is_set():
                written.append(self.db.c.insert_one({"at": ago(-3600 if len(written) % 2 else 3600), "n": len(written)}).inserted_id)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            self.db.c.insert_many({"at": ago(120), "old": True} for _ in range(20_000))
            self.assertTrue(eventually(lambda: self.db.c.count_documents({"old": True}) == 0, 30))
        finally:
            ended.set()
            writer.join()
        self.assertTrue(eventually(lambda: self.db.c.count_documents({"at": {"$lt": ago(1800)}}) == 0, 30))
        self.assertEqual(self.db.c.count_documents({}), len(written) // 2)
        self.assertTrue(self.db.validate_collection("c", full=True)["valid"])
        self.assertGreaterEqual(self.passes()["deletedDocuments"], 20_000)

    def test_a_restarted_server_goes_on(self):
        server = Server("--setParameter", "ttlMonitorSleepSecs=1")
        self.addCleanup(server.discard)
        server.start()
        with server.client() as client:
            collection = client.t.get_collection("c", write_concern=pymongo.WriteConcern(j=True))
            collection.insert_many({"at": ago(120)} for _ in range(30_000))
            collection.create_index("at", expireAfterSeconds=60)
            self.assertTrue(eventually(lambda: client.t.c.estimated_document_count() < 30_000, 30))
        server.kill()
        server.start()
        with server.client() as client:
            client.t.c.insert_many({"at": ago(120)} for _ in range(100))
            self.assertTrue(eventually(lambda: client.t.c.count_documents({}) == 0, 30))
            self.assertTrue(client.t.validate_collection("c", full=True)["valid"])
        self.assertEqual(server.stop(), 0)
