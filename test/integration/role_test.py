"""Roles that users define, as drivers meet them: what they allow, inherit, and lose while their users are logged in."""
import unittest

import pymongo

from support import Server

UNAUTHORIZED, ROLE_NOT_FOUND = 13, 31


def on(collection, *actions):
    return {"resource": {"db": "shop", "collection": collection}, "actions": list(actions)}


class Roles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--auth").start()
        with cls.server.client() as first:
            first.admin.command("createUser", "root", pwd="toor", roles=["root"])
        cls.root = cls.server.client(username="root", password="toor")
        for name in ("orders", "prices"):
            cls.root.shop[name].insert_one({"_id": 1})

    @classmethod
    def tearDownClass(cls):
        cls.root.close()
        cls.server.stop()
        cls.server.discard()

    def tearDown(self):
        self.root.shop.command("dropAllUsersFromDatabase")
        self.root.shop.command("dropAllRolesFromDatabase")

    def role(self, name, *privileges, roles=()):
        self.root.shop.command("createRole", name, privileges=list(privileges), roles=list(roles))

    def user(self, name, *roles):
        self.root.shop.command("createUser", name, pwd="secret", roles=list(roles))
        client = self.server.client(username=name, password="secret", authSource="shop")
        self.addCleanup(client.close)
        return client

    def assertFails(self, code, work, *arguments, **options):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            work(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)

    def test_a_role_for_one_collection(self):
        self.role("clerk", on("orders", "find"))
        client = self.user("ann", "clerk")
        self.assertEqual(client.shop.orders.find_one(), {"_id": 1})
        self.assertFails(UNAUTHORIZED, client.shop.prices.find_one)
        self.assertFails(UNAUTHORIZED, client.shop.orders.insert_one, {})

    def test_a_privilege_is_revoked_while_its_user_is_logged_in(self):
        self.role("clerk", on("orders", "find"), on("prices", "find"))
        client = self.user("ann", "clerk")
        client.shop.orders.find_one()
        self.root.shop.command("revokePrivilegesFromRole", "clerk", privileges=[on("orders", "find")])
        self.assertFails(UNAUTHORIZED, client.shop.orders.find_one)
        client.shop.prices.find_one()

    def test_an_open_cursor_ends_with_the_privilege(self):
        self.root.shop.many.insert_many({} for _ in range(5))
        self.addCleanup(self.root.shop.many.drop)
        self.role("clerk", on("many", "find"))
        client = self.user("ann", "clerk")
        opened = client.shop.command("find", "many", batchSize=1)["cursor"]["id"]
        client.shop.command("getMore", opened, collection="many", batchSize=1)
        self.root.shop.command("revokePrivilegesFromRole", "clerk", privileges=[on("many", "find")])
        self.assertFails(UNAUTHORIZED, client.shop.command, "getMore", opened, collection="many")

    def test_a_role_inherits(self):
        self.role("clerk", on("orders", "find"))
        self.role("manager", on("prices", "find", "update"), roles=["clerk"])
        client = self.user("ann", "manager")
        client.shop.orders.find_one()
        client.shop.prices.update_one({"_id": 1}, {"$set": {"price": 2}})
        held = client.shop.command("connectionStatus", showPrivileges=True)["authInfo"]
        self.assertEqual([role["role"] for role in held["authenticatedUserRoles"]], ["manager", "clerk"])
        self.assertEqual(len(held["authenticatedUserPrivileges"]), 2)
        self.root.shop.command("revokeRolesFromRole", "manager", roles=["clerk"])
        self.assertFails(UNAUTHORIZED, client.shop.orders.find_one)

    def test_a_dropped_role_is_held_by_nobody(self):
        self.role("clerk", on("orders", "find"))
        client = self.user("ann", "clerk", "dbAdmin")
        client.shop.orders.find_one()
        self.root.shop.command("dropRole", "clerk")
        self.assertFails(UNAUTHORIZED, client.shop.orders.find_one)
        self.assertEqual(self.root.shop.command("usersInfo", "ann")["users"][0]["roles"], [{"role": "dbAdmin", "db": "shop"}])
        self.role("clerk", on("orders", "find"))
        self.assertFails(UNAUTHORIZED, client.shop.orders.find_one)
        self.assertFails(ROLE_NOT_FOUND, self.root.shop.command, "dropRole", "nonesuch")

    def test_roles_outlive_a_restart(self):
        self.role("clerk", on("orders", "find"))
        self.user("ann", "clerk").close()
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        with self.server.client(username="ann", password="secret", authSource="shop") as client:
            self.assertEqual(client.shop.orders.find_one(), {"_id": 1})
            self.assertFails(UNAUTHORIZED, client.shop.prices.find_one)
        shown = self.root.shop.command("rolesInfo", "clerk", showPrivileges=True)["roles"][0]
        self.assertEqual(shown["privileges"], [on("orders", "find")])
