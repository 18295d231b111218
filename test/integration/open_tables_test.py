"""On a member of a replica set dropped tables stay as long as somebody may read them as of an earlier time. Where few tables may be open, that
ends earlier: others are created in their place."""
import pymongo

from support import SLOWNESS, ServerTest, eventually

TABLES = 100


class DroppedTables(ServerTest):
    OPTIONS = ("--replSet", "rs", "--maxOpenTables", str(TABLES))

    def setUp(self):
        super().setUp()
        self.client.admin.command("replSetInitiate")
        self.assertTrue(eventually(lambda: self.client.admin.command("hello")["isWritablePrimary"]))

    def create(self, name):
        """Whether there was room for its tables."""
        try:
            self.db[name].insert_one({})
            return True
        except pymongo.errors.OperationFailure as error:
            self.assertEqual(error.code, 264, error)
            return False

    def test_make_room_for_others(self):
        for i in range(TABLES // 2 + 10):  # each has two tables
            self.assertTrue(eventually(lambda: self.create(f"c{i}"), 30 * SLOWNESS), f"{i} collections were created and dropped")
            self.db.drop_collection(f"c{i}")


if __name__ == "__main__":
    import unittest
    unittest.main()
