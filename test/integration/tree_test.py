"""Nothing is hidden: every long-lived thing has a row, by command and by stage."""
from support import ServerTest

FIELDS = {"path", "node", "type", "incarnation", "phase", "phaseMeaning", "phaseSince", "mailboxLength", "mailboxOldestMs", "handled", "handledPerSecond", "busyShare",
          "restarts", "restartLimit", "lastMessage", "lastError", "documentId", "documentRevision", "pendingAsks", "parent", "strategy", "startedAt"}


class Tree(ServerTest):
    def rows(self, **filter):
        return {r["path"]: r for r in self.client.admin.command("actorTree", filter=filter, cursor={"batchSize": 1000})["cursor"]["firstBatch"]}

    def test_every_long_lived_thing_is_there(self):
        rows = self.rows()
        for path in ("/node", "/node/storage", "/node/storage/journal-flusher", "/node/storage/checkpointer", "/node/storage/ident-reaper", "/node/workers",
                     "/node/workers/worker0", "/node/services/idle-sweeper", "/node/front", "/node/front/listener"):
            self.assertIn(path, rows)
        for row in rows.values():
            self.assertEqual(FIELDS - set(row), set(), row["path"])
            self.assertTrue(row["phase"], row)
            if row["parent"]:
                self.assertIn(row["parent"], rows)

    def test_each_connection_has_a_row(self):
        with self.server.raw() as raw:
            mine = raw.command({"hello": 1, "$db": "admin"})["connectionId"]
            self.assertIn(f"/node/front/listener/conn{mine}", self.rows())

    def test_filters(self):
        self.assertEqual({r["type"] for r in self.rows(type="Connection").values()}, {"Connection"})
        self.assertEqual(len(self.rows(limit=2)), 2)
        self.assertTrue(all(p.startswith("/node/storage") for p in self.rows(under="/node/storage")))

    def test_the_stage(self):
        rows = list(self.client.admin.aggregate([{"$actors": {}}, {"$match": {"path": {"$regex": "^/node/storage"}}}, {"$project": {"path": 1}}, {"$sort": {"path": 1}}]))
        self.assertEqual([r["path"] for r in rows], ["/node/storage", "/node/storage/checkpointer", "/node/storage/ident-reaper", "/node/storage/journal-flusher"])

    def test_cursors_over_the_tree(self):
        first = self.client.admin.command("actorTree", cursor={"batchSize": 2})
        self.assertEqual(len(first["cursor"]["firstBatch"]), 2)
        self.assertNotEqual(first["cursor"]["id"], 0)
