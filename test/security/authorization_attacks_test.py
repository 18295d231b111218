"""What roles do not give is not reached through views, pipelines, explanations, UUIDs, cursors and error messages."""
import bson
import pymongo

from restricted import UNAUTHORIZED, RestrictedTest


class AuthorizationAttacks(RestrictedTest):
    def test_a_view_of_the_users_is_not_made(self):
        everyone_elses = {"$lookup": {"from": {"db": "admin", "coll": "system.users"}, "pipeline": [], "as": "x"}}
        codes = {"$unionWith": {"coll": "goods", "pipeline": [
            {"$facet": {"a": [{"$lookup": {"from": {"db": "vault", "coll": "codes"}, "pipeline": [], "as": "y"}}]}}]}}
        for role in ("readWrite", "dbOwner"):
            for on, pipeline in (("system.users", []), ("goods", [everyone_elses]), ("goods", [codes])):
                with self.subTest(role=role, on=on, pipeline=pipeline):
                    self.refused(self.clients[role], "shop", {"create": "peep", "viewOn": on, "pipeline": pipeline})
        self.root.admin.command("createUser", "adminWriter", pwd="x", roles=[{"role": "readWrite", "db": "admin"}])
        with self.server.client(username="adminWriter", password="x") as client:
            self.refused(client, "admin", {"create": "peep", "viewOn": "system.users", "pipeline": []})
        self.assertNotIn("peep", self.root.shop.list_collection_names() + self.root.admin.list_collection_names())

    def test_an_own_view_is_not_turned_to_them(self):
        owner = self.clients["dbOwner"]
        owner.shop.command("create", "mine", viewOn="goods", pipeline=[])
        self.addCleanup(self.root.shop.drop_collection, "mine")
        lookup = [{"$lookup": {"from": {"db": "admin", "coll": "system.users"}, "pipeline": [], "as": "x"}}]
        self.refused(owner, "shop", {"collMod": "mine", "viewOn": "system.users", "pipeline": []})
        self.refused(owner, "shop", {"collMod": "mine", "viewOn": "goods", "pipeline": lookup})
        self.refused(owner, "shop", {"collMod": "mine", "pipeline": lookup})
        self.assertEqual(len(list(owner.shop.mine.find())), 300)

    def test_reads_of_all_kinds_stop_at_the_database(self):
        reader = self.clients["read"]
        far = {"db": "vault", "coll": "codes"}
        pipelines = [[{"$lookup": {"from": far, "pipeline": [], "as": "x"}}],
                     [{"$facet": {"a": [{"$lookup": {"from": far, "pipeline": [], "as": "x"}}]}}],
                     [{"$lookup": {"from": "goods", "as": "x", "pipeline": [{"$lookup": {"from": far, "pipeline": [], "as": "y"}}]}}],
                     [{"$unionWith": "system.users"}],
                     [{"$graphLookup": {"from": "system.users", "startWith": "$_id", "connectFromField": "a", "connectToField": "b", "as": "x"}}]]
        for pipeline in pipelines:
            aggregate = {"aggregate": "goods", "pipeline": pipeline, "cursor": {}}
            for command in (aggregate, {**aggregate, "explain": True}, {"explain": aggregate, "verbosity": "executionStats"}):
                with self.subTest(command=command):
                    self.refused(reader, "shop", command)
        for command in ({"find": "system.users"}, {"count": "system.users"}, {"distinct": "system.users", "key": "credentials"},
                        {"explain": {"find": "system.users"}}, {"explain": {"distinct": "system.users", "key": "user"}},
                        {"aggregate": "system.users", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}}):
            with self.subTest(command=command):
                self.refused(reader, "admin", command)
        self.refused(reader, "shop", {"dataSize": "vault.codes"})
        self.refused(reader, "admin", {"dataSize": "vault.codes"})

    def test_a_view_gives_itself_and_not_what_is_below(self):
        self.root.shop.command("create", "window", viewOn="goods", pipeline=[
            {"$lookup": {"from": {"db": "vault", "coll": "codes"}, "localField": "_id", "foreignField": "_id", "as": "codes"}},
            {"$project": {"n": {"$size": "$codes"}}}])
        self.addCleanup(self.root.shop.drop_collection, "window")
        reader = self.clients["read"]
        self.assertEqual(reader.shop.window.find_one({"_id": 1}), {"_id": 1, "n": 1})
        self.assertEqual(reader.shop.window.count_documents({"n": 1}), 1)
        self.assertEqual(sorted(reader.shop.window.distinct("n")), [0, 1])
        lookup = [{"$lookup": {"from": {"db": "vault", "coll": "codes"}, "pipeline": [], "as": "x"}}]
        self.refused(reader, "shop", {"aggregate": "window", "pipeline": lookup, "cursor": {}})
        self.refused(self.clients["readWrite"], "shop", {"aggregate": "window", "pipeline": [{"$out": {"db": "vault", "coll": "copy"}}], "cursor": {}})
        # Its maker may read both; one that may not cannot put another view on its sources.
        self.refused(self.clients["dbOwner"], "shop", {"create": "wider", "viewOn": "goods", "pipeline": lookup})

    def uuid_of(self, database, name):
        uuid = next(row["info"]["uuid"] for row in self.root[database].list_collections() if row["name"] == name)
        return bson.Binary(uuid.bytes if hasattr(uuid, "bytes") else bytes(uuid), 4)

    def test_a_uuid_is_no_other_name(self):
        far, near = self.uuid_of("vault", "codes"), self.uuid_of("shop", "goods")
        for database in ("shop", "vault"):
            self.refused(self.clients["read"], database, {"find": far})
            self.refused(self.clients["dbOwner"], database, {"listIndexes": far})
        self.refused(self.clients["read"], "shop", {"find": near})

    def test_a_uuid_with_the_right_to_use_it_needs_the_rights_on_its_collection(self):
        monitor = {"role": "clusterMonitor", "db": "admin"}
        for name, roles in (("nameless", [monitor]), ("reader", [monitor, {"role": "read", "db": "shop"}])):
            self.root.admin.command("createUser", name, pwd="x", roles=roles)
        near, far = self.uuid_of("shop", "goods"), self.uuid_of("vault", "codes")
        with self.server.client(username="nameless", password="x") as client:
            for command in ({"find": near}, {"count": near}, {"distinct": near, "key": "name"}):
                self.refused(client, "shop", command)
            self.refused(client, "vault", {"find": far})
        with self.server.client(username="reader", password="x") as client:
            self.assertEqual(client.shop.command({"count": near})["n"], 300)
            self.refused(client, "vault", {"find": far})

    def test_a_cursor_ends_with_the_role(self):
        self.root.admin.command("createUser", "leaver", pwd="x", roles=[{"role": "read", "db": "shop"}])
        with self.server.client(username="leaver", password="x") as client:
            cursor = client.shop.goods.find(batch_size=10)
            self.assertEqual(next(cursor)["_id"], 0)
            self.root.admin.command("revokeRolesFromUser", "leaver", roles=[{"role": "read", "db": "shop"}])
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                list(cursor)
            self.assertEqual(caught.exception.code, UNAUTHORIZED)

    def test_errors_show_no_key_of_what_may_not_be_read(self):
        self.root.shop.pins.insert_many([{"_id": 1, "pin": "4711-a"}, {"_id": 2, "pin": "4711-a"}])
        self.addCleanup(self.root.shop.drop_collection, "pins")
        for client, shown in ((self.clients["dbAdmin"], False), (self.root, True)):
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                client.shop.command("createIndexes", "pins", indexes=[{"key": {"pin": 1}, "name": "pin", "unique": True}])
            self.assertEqual(caught.exception.code, 11000)
            self.assertEqual("4711" in repr(caught.exception.details), shown, caught.exception.details)

    def test_a_name_is_not_taken_for_rights_on_it(self):
        admin = self.clients["dbAdmin"]
        self.refused(admin, "admin", {"renameCollection": "vault.codes", "to": "shop.codes"})
        self.refused(admin, "admin", {"renameCollection": "shop.goods", "to": "admin.system.users", "dropTarget": True})
        self.refused(self.clients["userAdmin"], "shop", {"find": "goods"})
