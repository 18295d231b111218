"""Index builds as their users and operators meet them: seen while they run, ended in every way, leaving nothing."""
import json
import threading
import urllib.request

import pymongo

from support import SLOWNESS, Server, ServerTest, eventually, frame, op_msg_payload

BUILD = {"indexes": [{"key": {"x": 1}, "name": "x_1"}]}


class Build(threading.Thread):
    """A client that waits for its createIndexes."""

    def __init__(self, server, database, **options):
        super().__init__()
        self.server, self.database, self.options = server, database, options
        self.code = self.reply = None
        self.start()

    def run(self):
        with self.server.client() as client:
            try:
                self.reply = client[self.database].command("createIndexes", "c", **BUILD, **self.options)
                self.code = 0
            except pymongo.errors.PyMongoError as failure:
                self.code = getattr(failure, "code", None)  # none of a lost connection

    def ended(self):
        self.join(60 * SLOWNESS)
        return self.code


class IndexBuilds(ServerTest):
    def setUp(self):
        super().setUp()
        self.db.c.insert_many({"_id": i, "x": i % 1000, "tags": [i % 7, i % 11]} for i in range(20_000))
        self.addCleanup(self.hold, None)

    def hold(self, phase):
        """Builds that come to that point stay there."""
        mode = "alwaysOn" if phase else "off"
        self.client.admin.command("configureFailPoint", "hangIndexBuild", mode=mode, data={"phase": phase or ""})

    def begin_scan(self, **options):
        """A build that has scanned some documents, and stays there."""
        self.hold("scanning")
        build = Build(self.server, self.db.name, **options)
        self.assertTrue(eventually(lambda: any("progress" in row for row in self.rows())), "the build did not come there")
        return build

    def rows(self):
        return self.client.admin.command("currentOp", desc={"$regex": "^IndexBuild"})["inprog"]

    def show(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.admin_port}/actors{path}") as reply:
            return json.load(reply)

    def tree(self):
        return [r["path"] for r in self.client.admin.command("actorTree", filter={"type": "IndexBuild"}, cursor={})["cursor"]["firstBatch"]]

    def assert_nothing_left(self):
        self.assertTrue(eventually(lambda: not self.tree() and not self.rows()))
        catalog = list(self.db.c.aggregate([{"$listCatalog": {}}]))
        self.assertEqual([i["spec"]["name"] for c in catalog for i in c["md"]["indexes"]], ["_id_"] if catalog else [])
        self.assertEqual([r for r in self.client.admin.command("lockInfo")["lockInfo"] if self.db.name in r["resourceId"]], [])
        self.hold(None)
        self.db.c.insert_one({"_id": -1})
        self.assertEqual(self.db.c.create_index("x", name="x_1"), "x_1")
        self.assertTrue(self.db.validate_collection("c")["valid"])

    def test_a_running_build_is_seen_and_killed_by_its_operation(self):
        build = self.begin_scan()
        path, operation = self.tree()[0], self.rows()[0]
        state = self.show(path)["state"]
        self.assertEqual((state["collection"], state["indexes"], state["opid"]), (f"{self.db.name}.c", ["x_1"], operation["opid"]))
        self.assertEqual(state["documentsEstimated"], 20_000)
        self.assertGreater(state["documentsScanned"], 0)
        self.assertEqual(operation["ns"], f"{self.db.name}.c")
        self.assertEqual(operation["progress"]["total"], 20_000)
        self.client.admin.command("killOp", op=operation["opid"])
        self.assertEqual(build.ended(), 11601)
        self.assert_nothing_left()

    def test_the_request_can_be_killed_too(self):
        build = self.begin_scan(comment="mine")
        request = self.client.admin.command("currentOp", **{"command.comment": "mine"})["inprog"][0]
        self.client.admin.command("killOp", op=request["opid"])
        self.assertEqual(build.ended(), 11601)
        self.assert_nothing_left()

    def test_it_ends_with_its_time(self):
        self.hold("committing")
        build = Build(self.server, self.db.name, maxTimeMS=500)
        self.assertEqual(build.ended(), 50)
        self.assert_nothing_left()

    def test_it_ends_with_its_client(self):
        self.hold("scanning")
        with self.server.raw() as raw:
            raw.send(frame(op_msg_payload({"createIndexes": "c", **BUILD, "$db": self.db.name})))
            self.assertTrue(eventually(self.tree))
        self.assert_nothing_left()

    def test_writers_go_on_beside_it_and_it_takes_their_writes_in(self):
        build = self.begin_scan()
        self.db.c.insert_one({"_id": "new", "x": [5, 2000]})
        self.db.c.update_many({"_id": {"$lt": 50}}, {"$set": {"x": 3000}})
        self.db.c.delete_many({"_id": {"$gte": 19_900}})
        self.hold(None)
        self.assertEqual(build.ended(), 0)
        self.assertEqual(len(list(self.db.c.find({"x": {"$gte": 2000}}).hint("x_1"))), 51)
        self.assertTrue(self.db.validate_collection("c")["valid"])

    def test_drops_end_it(self):
        for drop in (lambda: self.db.c.drop_index("x_1"), self.db.c.drop, lambda: self.client.drop_database(self.db.name)):
            if self.db.c.estimated_document_count() == 0:
                self.db.c.insert_one({"_id": 1})
            self.hold("committing")
            build = Build(self.server, self.db.name)
            self.assertTrue(eventually(lambda: [r for r in self.client.admin.command("actorTree", filter={"type": "IndexBuild", "phase": "committing"}, cursor={})["cursor"]["firstBatch"]]))
            drop()
            self.assertEqual(build.ended(), 276)
            self.hold(None)
        self.assert_nothing_left()

    def test_one_build_serves_all_who_want_the_same(self):
        build = self.begin_scan()
        others = [Build(self.server, self.db.name) for _ in range(3)]
        self.assertTrue(eventually(lambda: self.show("/node/services/index-builds")["state"]["builds"][0]["clients"] == 4))
        self.assertEqual(len(self.tree()), 1)
        self.hold(None)
        self.assertEqual([b.ended() for b in [build, *others]], [0, 0, 0, 0])


class Crashes(ServerTest):
    DISCARDED = "Discarded what an index build had left"

    def come_to(self, server, client, held_at, phase, has_scanned):
        """A build that has come to the point `held_at`, which its row in the tree tells by its phase and its progress."""
        client.admin.command("configureFailPoint", "hangIndexBuild", mode="alwaysOn", data={"phase": held_at})
        build = Build(server, "crash")

        def is_there():
            rows = client.admin.command("actorTree", filter={"type": "IndexBuild"}, cursor={})["cursor"]["firstBatch"]
            if [row["phase"] for row in rows] != [phase]:
                return False
            with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}/actors{rows[0]['path']}") as reply:
                state = json.load(reply)["state"]
            return has_scanned(state["documentsScanned"])

        self.assertTrue(eventually(is_there), f"the build did not come to {held_at}")
        return build

    def test_a_kill_in_the_middle_leaves_no_index(self):
        with Server() as server, server.client() as client:
            db = client.crash
            db.c.insert_many({"_id": i, "x": i} for i in range(5000))
            moments = [("set up", "scanning", lambda n: n == 0), ("scanning", "scanning", lambda n: 0 < n < 5000), ("committing", "committing", lambda n: n >= 5000)]
            for discarded, (held_at, phase, has_scanned) in enumerate(moments, start=1):
                build = self.come_to(server, client, held_at, phase, has_scanned)
                self.assertTrue([i for c in db.c.aggregate([{"$listCatalog": {}}]) for i in c["md"]["indexes"] if not i["ready"]])
                db.c.with_options(write_concern=pymongo.WriteConcern(j=True)).insert_one({"phase": held_at})
                server.kill()
                build.ended()
                server.start()
                self.assertEqual(list(db.c.index_information()), ["_id_"])
                self.assertEqual([i["ready"] for c in db.c.aggregate([{"$listCatalog": {}}]) for i in c["md"]["indexes"]], [True])
                self.assertEqual(server.log().count(self.DISCARDED), discarded, "one more in each life")
            self.assertEqual(db.c.create_index("x"), "x_1")
            self.assertTrue(db.validate_collection("c")["valid"])
