"""A server with secrets, and users whose roles end at the database `shop`."""
import sys
import unittest
from pathlib import Path

import pymongo

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from support import Server  # noqa: E402

UNAUTHORIZED = 13


class RestrictedTest(unittest.TestCase):
    """Attacks by `self.clients`, a client for each role on `shop`; `self.root` may do everything."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--auth").start()
        with cls.server.client() as first:
            first.admin.command("createUser", "root", pwd="toor", roles=["root"])
        cls.root = cls.server.client(username="root", password="toor")
        cls.root.shop.goods.insert_many({"_id": i, "name": f"thing {i}"} for i in range(300))
        cls.root.vault.codes.insert_one({"_id": 1, "code": "4711-0815"})
        cls.clients = {}
        for role in ("read", "readWrite", "dbAdmin", "dbOwner", "userAdmin"):
            cls.root.admin.command("createUser", role, pwd="x", roles=[{"role": role, "db": "shop"}])
            cls.clients[role] = cls.server.client(username=role, password="x")

    @classmethod
    def tearDownClass(cls):
        for client in (cls.root, *cls.clients.values()):
            client.close()
        code = cls.server.stop()
        cls.server.discard()
        assert code == 0, f"the server ended with {code}"

    def refused(self, client, database, command):
        """The message of the refusal, which tells nothing of what was asked for."""
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            client[database].command(command)
        self.assertEqual(caught.exception.code, UNAUTHORIZED, caught.exception)
        self.assertHidden(caught.exception)

    def assertHidden(self, shown):
        for secret in ("4711", "storedKey", "serverKey", "SCRAM"):
            self.assertNotIn(secret, str(shown))
            self.assertNotIn(secret, repr(getattr(shown, "details", "")))
