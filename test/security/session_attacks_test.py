"""What belongs to others: their sessions, their roles, and that they exist."""
import pymongo

from restricted import RestrictedTest


class SessionAttacks(RestrictedTest):
    def test_sessions_of_others_go_on(self):
        reader, writer = self.clients["read"], self.clients["readWrite"]
        with reader.start_session() as session:
            cursor = reader.shop.goods.find(batch_size=10, session=session)
            next(cursor)
            writer.admin.command("killSessions", [])
            writer.admin.command("killSessions", [session.session_id])
            writer.admin.command("endSessions", [session.session_id])
            with self.server.client() as anyone:
                anyone.admin.command("endSessions", [session.session_id])
            self.assertEqual(len(list(cursor)), 299)
            cursor = reader.shop.goods.find(batch_size=10, session=session)
            next(cursor)
            self.root.admin.command("killSessions", [session.session_id])
            with self.assertRaises(pymongo.errors.OperationFailure):
                list(cursor)

    def test_roles_that_may_not_be_revoked_stay(self):
        roles = [{"role": "dbOwner", "db": "vault"}]
        self.root.shop.command("createUser", "boss", pwd="x", roles=roles)
        clerk = self.clients["userAdmin"]
        self.refused(clerk, "shop", {"revokeRolesFromUser": "boss", "roles": roles})
        self.refused(clerk, "shop", {"updateUser": "boss", "roles": []})
        self.assertEqual(self.root.shop.command("usersInfo", "boss")["users"][0]["roles"], roles)

    def test_users_are_not_found_out(self):
        reader = self.clients["read"]
        self.assertEqual(reader.admin.command("usersInfo", "read")["users"][0]["user"], "read")
        for asked in ("root", "nobody", 1, ["read", "root"], {"forAllDBs": True}, {"user": "root", "db": "admin"}):
            with self.subTest(asked=asked):
                self.refused(reader, "admin", {"usersInfo": asked})
        self.refused(reader, "admin", {"usersInfo": "read", "showCredentials": True})
