"""Nothing is hidden: every long-lived thing has a row, by command and by stage."""
import json
import urllib.error
import urllib.request

from support import ServerTest

FIELDS = {"path", "node", "type", "incarnation", "phase", "phaseMeaning", "phaseSince", "mailboxLength", "mailboxOldestMs", "handled", "handledPerSecond", "busyShare",
          "restarts", "restartLimit", "lastMessage", "lastError", "documentId", "documentRevision", "pendingAsks", "parent", "strategy", "startedAt"}


class Tree(ServerTest):
    def rows(self, **filter):
        return {r["path"]: r for r in self.client.admin.command("actorTree", filter=filter, cursor={"batchSize": 1000})["cursor"]["firstBatch"]}

    def test_every_long_lived_thing_is_there(self):
        rows = self.rows()
        for path in ("/node", "/node/storage", "/node/storage/engine", "/node/storage/catalog", "/node/storage/sessions", "/node/storage/journal-flusher", "/node/storage/checkpointer", "/node/storage/ident-reaper", "/node/storage/disk-watch", "/node/workers",
                     "/node/workers/worker0", "/node/services/idle-sweeper", "/node/front", "/node/front/listener"):
            self.assertIn(path, rows)
        for row in rows.values():
            self.assertEqual(FIELDS - set(row), set(), row["path"])
            self.assertTrue(row["phase"], row)
            if row["parent"]:
                self.assertIn(row["parent"], rows)

    def test_what_is_no_actor_tells_of_itself_and_cannot_be_restarted(self):
        def shown(name):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.server.admin_port}/actors/node/storage/{name}") as reply:
                return json.load(reply)
        before = shown("catalog")["state"]
        self.client.tree_rows.first.create_index("x")
        after = shown("catalog")["state"]
        self.assertEqual((after["recordStores"] - before["recordStores"], after["indexes"] - before["indexes"]), (1, 2))
        self.assertGreater(shown("engine")["state"]["cache"]["bytesMax"], 0)
        self.assertGreater(shown("sessions")["state"]["open"], 0)
        row = shown("engine")["row"]
        self.assertEqual((row["phase"], row["mailboxLength"], row["restartLimit"]), ("open", 0, 0))
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.admin_port}/actors/node/storage/engine/restart", method="POST", headers={"X-Troupe-Action": "restart"})
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(request)
        self.assertEqual(self.client.admin.command("ping")["ok"], 1)

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
        self.assertEqual([r["path"] for r in rows], ["/node/storage", "/node/storage/catalog", "/node/storage/checkpointer", "/node/storage/disk-watch", "/node/storage/engine", "/node/storage/ident-reaper",
                                                     "/node/storage/journal-flusher", "/node/storage/sessions", "/node/storage/transition-keeper"])

    def test_cursors_over_the_tree(self):
        first = self.client.admin.command("actorTree", cursor={"batchSize": 2})
        self.assertEqual(len(first["cursor"]["firstBatch"]), 2)
        self.assertNotEqual(first["cursor"]["id"], 0)
