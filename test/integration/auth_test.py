"""Who may do what: log-in by SCRAM, the localhost exception, built-in roles."""
import os
import stat
import unittest

import bson
import pymongo

from support import Server

UNAUTHORIZED, AUTHENTICATION_FAILED = 13, 18


class Auth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--auth").start()
        with cls.server.client() as first:
            cls.before = codes(first)
            first.admin.command("createUser", "root", pwd="toor", roles=["root"])
            cls.after = codes(first)
            try:
                first.admin.command("createUser", "second", pwd="x", roles=["root"])
                cls.second = 0
            except pymongo.errors.OperationFailure as e:
                cls.second = e.code
        cls.root = cls.server.client(username="root", password="toor")

    @classmethod
    def tearDownClass(cls):
        cls.root.close()
        cls.server.stop()
        cls.server.discard()

    def user(self, name, *roles, database="admin", **options):
        self.root[database].command("createUser", name, pwd="secret", roles=list(roles), **options)
        self.addCleanup(lambda: self.root[database].command("dropUser", name) if self.root[database].command("usersInfo", name)["users"] else None)
        client = self.server.client(username=name, password="secret", authSource=database)
        self.addCleanup(client.close)
        return client

    def assertDenied(self, work, *arguments, code=UNAUTHORIZED, **options):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            work(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)

    def test_the_localhost_exception_makes_one_user_and_no_more(self):
        self.assertEqual(self.before, {"ping": 0, "find": UNAUTHORIZED, "insert": UNAUTHORIZED, "listDatabases": UNAUTHORIZED})
        self.assertEqual(self.after, self.before)
        self.assertEqual(self.second, UNAUTHORIZED)

    def test_both_mechanisms(self):
        self.user("both", "readWriteAnyDatabase")
        for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
            with self.subTest(mechanism), self.server.client(username="both", password="secret", authMechanism=mechanism) as client:
                client.t.c.insert_one({"m": mechanism})
        with self.server.client() as anyone:
            self.assertEqual(anyone.admin.command("hello", saslSupportedMechs="admin.both")["saslSupportedMechs"], ["SCRAM-SHA-1", "SCRAM-SHA-256"])
            # Nobody learns from it who exists.
            self.assertEqual(anyone.admin.command("hello", saslSupportedMechs="admin.nobody")["saslSupportedMechs"], ["SCRAM-SHA-1", "SCRAM-SHA-256"])

    def test_a_user_of_one_mechanism(self):
        self.user("modern", "read", mechanisms=["SCRAM-SHA-256"])
        with self.server.client(username="modern", password="secret", authMechanism="SCRAM-SHA-1") as client:
            self.assertDenied(client.admin.command, "ping", code=AUTHENTICATION_FAILED)

    def test_wrong_names_and_passwords(self):
        for user, password, source in (("root", "wrong", "admin"), ("nobody", "toor", "admin"), ("root", "toor", "other"), ("root", "", "admin")):
            for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
                with self.subTest(user=user, password=password, source=source, mechanism=mechanism):
                    with self.server.client(username=user, password=password or " ", authSource=source, authMechanism=mechanism) as client:
                        self.assertDenied(client.admin.command, "ping", code=AUTHENTICATION_FAILED)

    def test_unusual_passwords(self):
        self.root.admin.command("createUser", "u:ser@ü", pwd="p\u00e4ss w\u00f6rd\u2168", roles=["read"], mechanisms=["SCRAM-SHA-256"])
        with self.server.client(username="u:ser@ü", password="p\u00e4ss w\u00f6rd\u2168") as client:
            self.assertEqual(client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"], [{"user": "u:ser@ü", "db": "admin"}])

    def test_read(self):
        client = self.user("reader", {"role": "read", "db": "shop"})
        self.root.shop.c.replace_one({"_id": 1}, {}, upsert=True)
        self.assertEqual(client.shop.c.find_one(), {"_id": 1})
        self.assertIn("c", client.shop.list_collection_names())
        self.assertEqual(list(client.shop.c.aggregate([{"$count": "n"}])), [{"n": 1}])
        self.assertDenied(client.shop.c.insert_one, {})
        self.assertDenied(client.shop.c.update_one, {}, {"$set": {"a": 1}})
        self.assertDenied(client.shop.c.delete_one, {})
        self.assertDenied(client.shop.c.drop)
        self.assertDenied(client.shop.c.create_index, "a")
        self.assertDenied(client.other.c.find_one)
        self.assertDenied(client.shop.c.aggregate, [{"$out": "stolen"}])
        self.assertDenied(client.admin.command, "serverStatus")
        self.assertDenied(client.admin.command, "shutdown")
        self.assertDenied(client.admin.command, {"setParameter": 1, "logLevel": 0})
        self.assertDenied(client.admin.command, "createUser", "evil", pwd="x", roles=["root"])
        self.assertDenied(client.admin["system.users"].find_one)

    def test_a_lookup_needs_rights_on_what_it_reads(self):
        client = self.user("looker", {"role": "read", "db": "shop"})
        self.root.shop.c.replace_one({"_id": 1}, {}, upsert=True)
        self.root.secret.c.insert_one({"s": 1})
        for stage in ({"$lookup": {"from": {"db": "secret", "coll": "c"}, "as": "x", "pipeline": []}}, {"$unionWith": {"coll": "system.users"}},
                      {"$merge": {"into": {"db": "secret", "coll": "c"}}}, {"$merge": {"into": "c"}}):
            with self.subTest(stage=stage):
                self.assertDenied(client.shop.c.aggregate, [stage])

    def test_read_write(self):
        client = self.user("writer", {"role": "readWrite", "db": "shop"})
        client.shop.w.insert_one({"_id": 1})
        client.shop.w.update_one({"_id": 1}, {"$set": {"a": 1}})
        client.shop.w.create_index("a")
        client.shop.w.delete_many({})
        client.shop.w.drop()
        self.assertDenied(client.other.c.insert_one, {})
        self.assertDenied(client.shop.command, "dropDatabase")
        self.assertDenied(client.admin.command, "currentOp")

    def test_cluster_monitor_looks_and_does_not_touch(self):
        client = self.user("watcher", "clusterMonitor")
        self.assertEqual(client.admin.command("serverStatus")["ok"], 1)
        self.assertIn("inprog", client.admin.command("currentOp"))
        self.assertIn("databases", client.admin.command("listDatabases"))
        self.assertGreater(len(client.admin.command("actorTree")["cursor"]["firstBatch"]), 3)
        self.assertDenied(client.shop.c.insert_one, {})
        self.assertDenied(client.shop.c.find_one)
        self.assertDenied(client.admin.command, "killOp", op=1)

    def test_database_administration(self):
        client = self.user("dba", {"role": "dbAdmin", "db": "shop"}, {"role": "userAdmin", "db": "shop"})
        self.root.shop.adm.insert_one({})
        self.assertEqual(client.shop.command("collStats", "adm")["count"], 1)
        self.assertTrue(client.shop.validate_collection("adm")["valid"])
        self.assertDenied(client.shop.adm.insert_one, {})
        client.shop.command("createUser", "clerk", pwd="x", roles=["read"])
        self.assertEqual([u["user"] for u in client.shop.command("usersInfo", 1)["users"]], ["clerk"])
        client.shop.command("dropUser", "clerk")
        self.assertDenied(client.admin.command, "createUser", "evil", pwd="x", roles=["root"])

    def test_listing_shows_what_one_may_see(self):
        client = self.user("narrow", {"role": "read", "db": "shop"})
        self.root.shop.c.replace_one({"_id": 1}, {}, upsert=True)
        self.root.hidden.c.insert_one({})
        self.assertEqual(client.list_database_names(), ["shop"])

    def test_dropping_a_user_ends_their_rights(self):
        client = self.user("leaver", "readWriteAnyDatabase")
        client.shop.c.find_one()
        self.root.admin.command("dropUser", "leaver")
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            client.shop.c.find_one()
        self.assertIn(caught.exception.code, (UNAUTHORIZED, AUTHENTICATION_FAILED))

    def test_a_change_of_roles_is_felt_at_once(self):
        client = self.user("mover", {"role": "read", "db": "shop"})
        self.assertDenied(client.shop.m.insert_one, {})
        self.root.admin.command("grantRolesToUser", "mover", roles=[{"role": "readWrite", "db": "shop"}])
        client.shop.m.insert_one({})
        self.root.admin.command("revokeRolesFromUser", "mover", roles=[{"role": "readWrite", "db": "shop"}])
        self.assertDenied(client.shop.m.insert_one, {})

    def test_a_new_password(self):
        self.user("changer", "read")
        self.root.admin.command("updateUser", "changer", pwd="new")
        with self.server.client(username="changer", password="new") as client:
            self.assertEqual(client.admin.command("connectionStatus")["ok"], 1)
        with self.server.client(username="changer", password="secret") as client:
            self.assertDenied(client.admin.command, "ping", code=AUTHENTICATION_FAILED)

    def test_cursors_belong_to_their_user(self):
        self.root.shop.many.insert_many({"_id": i} for i in range(200)) if not self.root.shop.many.count_documents({}) else None
        cursor = self.root.shop.command("find", "many", batchSize=2)["cursor"]["id"]
        client = self.user("thief", "readAnyDatabase")
        self.assertDenied(client.shop.command, "getMore", cursor, collection="many")
        self.assertEqual(len(self.root.shop.command("getMore", cursor, collection="many")["cursor"]["nextBatch"]), 198)

    def test_passwords_are_neither_kept_nor_logged(self):
        self.user("discreet", "read")
        self.root.admin.command("updateUser", "discreet", pwd="hush-hush-hush")
        self.assertNotIn("hush-hush-hush", self.server.log())
        stored = self.root.admin["system.users"].find_one({"user": "discreet"})
        self.assertNotIn("hush-hush-hush", repr(stored))

    def test_users_outlive_a_restart(self):
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        with self.server.client(username="root", password="toor") as client:
            self.assertEqual(client.admin.command("usersInfo", "root")["users"][0]["roles"], [{"role": "root", "db": "admin"}])
        with self.server.client() as anyone:
            self.assertDenied(anyone.admin.command, "createUser", "evil", pwd="x", roles=["root"])

    def test_a_restart_does_not_tell_users_that_exist_from_others(self):
        def salts():
            with self.server.client() as anyone:
                return {(user, mechanism): salt_of(anyone, user, mechanism) for user in ("root", "nobody", "noone") for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256")}
        before = salts()
        self.assertEqual(len(set(before.values())), 6)
        self.server.restart()
        self.assertEqual(salts(), before)


class Files(unittest.TestCase):
    def test_what_the_server_writes_is_its_own_users_alone(self):
        server = Server("--auth", "--filePermissions", "0777")
        self.addCleanup(server.discard)
        made = [server.folder / "own.log", server.folder / "pid"]
        server.options += ["--logpath", str(made[0]), "--pidfilepath", str(made[1])]
        before = os.umask(0o022)
        try:
            server.start()
        finally:
            os.umask(before)
        with server.client() as client:
            client.admin.command("createUser", "root", pwd="toor", roles=["root"])
        with server.client(username="root", password="toor") as client:
            client.test.c.insert_one({"secret": 1})
            client.admin.command("fsync")
            client.admin.command("logRotate", 1)
        made += [*server.folder.glob("own.log.*"), *server.dbpath.rglob("*")]
        self.assertGreater(len(made), 10)
        modes = {str(path): stat.S_IMODE(path.stat().st_mode) for path in made if path.exists()}
        self.assertEqual({path: oct(mode) for path, mode in modes.items() if mode & 0o077}, {})
        local = server.folder / f"mongodb-{server.port}.sock"
        self.assertEqual(stat.S_IMODE(local.stat().st_mode), 0o777, "an option says who may use it")


def salt_of(client, user, mechanism):
    """As the server tells it to a client that begins to log in."""
    answer = client.admin.command("saslStart", 1, mechanism=mechanism, payload=bson.Binary(f"n,,n={user},r=abcdefgh".encode()))
    return next(part for part in answer["payload"].decode().split(",") if part.startswith("s="))


def codes(client):
    """What a client without a user is answered."""
    result = {}
    for name, database in (("ping", "admin"), ("find", "t"), ("insert", "t"), ("listDatabases", "admin")):
        command = {name: 1} if database == "admin" else {name: "c"}
        if name == "insert":
            command["documents"] = [{}]
        try:
            client[database].command(command)
            result[name] = 0
        except pymongo.errors.OperationFailure as e:
            result[name] = e.code
    return result
