"""A primary that takes writes back forgets that their sessions did them: a retry is carried out, or answered, as on every other member."""
import unittest
import uuid

import bson
from pymongo.errors import NotMasterError

from replica_set_support import Parted, Set, client_of, documents_of, has_hash, hash_of, rollback_id
from support import eventually

INT64 = bson.Int64


def records_of(member):
    """What a member keeps for retries: the records, and the images that answer them."""
    with member.client(readPreference="secondaryPreferred") as client:
        records = sorted((str(d["_id"]["id"]), d["txnNum"], str(d["lastWriteOpTime"])) for d in client.config.transactions.find())
        images = sorted((str(d["_id"]["id"]), d["txnNum"], str(d["ts"]), str(d["image"]))
                        for d in client.config.image_collection.find({"invalidated": False}))
        return records, images


class Session:
    """One that sends its writes itself, to the member that it chooses."""

    def __init__(self, counter):
        self.counter = counter
        self.lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}

    def send(self, member, number, command, w):
        reply = member.ask({**command, "lsid": self.lsid, "txnNumber": INT64(number), "writeConcern": {"w": w}}, db="app")
        assert reply["ok"] == 1, reply
        return reply

    def count(self, member, number, w="majority"):
        """The counter's value after one more, and whether an earlier attempt had done it."""
        reply = self.send(member, number, {"findAndModify": "items", "query": {"_id": self.counter}, "update": {"$inc": {"n": 1}},
                                           "upsert": True, "new": True}, w)
        return reply["value"]["n"], "retriedStmtId" in reply

    def insert(self, member, number, name, w="majority"):
        reply = self.send(member, number, {"insert": "items", "documents": [{"_id": name}]}, w)
        assert reply["n"] == 1 and "writeErrors" not in reply, reply
        return "retriedStmtIds" in reply


class SessionsThatRollBack(unittest.TestCase):
    def test_what_was_taken_back_is_done_again_and_nothing_twice(self):
        with Set() as group:
            group.initiate()
            parted = Parted(group)
            old = parted.old
            counting, retried, left = Session("counting"), Session("retried"), Session("left")
            self.assertEqual(counting.count(old, 1), (1, False))
            self.assertEqual(counting.count(old, 2), (2, False))
            self.assertEqual(left.count(old, 1), (1, False))
            parted.part()
            self.assertEqual(counting.count(old, 3, w=1), (3, False))
            self.assertEqual(counting.count(old, 3, w=1), (3, True))
            self.assertEqual(left.count(old, 2, w=1), (2, False))
            self.assertFalse(retried.insert(old, 1, "retried", w=1))
            parted.await_successor()
            parted.write_on_the_new_branch({"_id": "new"})
            self.assertFalse(retried.insert(parted.new, 1, "retried"), "this member has never heard of it")
            parted.mend()
            parted.await_rollback()
            expected = records_of(parted.new)
            self.assertTrue(eventually(lambda: records_of(old) == expected), (records_of(old), expected))

            old.command("replSetStepUp")
            self.assertTrue(eventually(old.is_primary), old.log_tail(30))
            self.assertEqual(counting.count(old, 2), (2, True), "the answer of before the partition")
            self.assertEqual(counting.count(old, 3), (3, False), "taken back, so done anew")
            self.assertEqual(counting.count(old, 3), (3, True))
            self.assertTrue(retried.insert(old, 1, "retried"), "the other primary had done it")
            self.assertEqual(left.count(old, 3), (2, False), "a number is left out")
            self.assertEqual({d["_id"]: d.get("n") for d in documents_of(old)}, {"counting": 3, "left": 2, "retried": None, "new": None})

            wanted = hash_of(group.settled(60))
            for member in group.members:
                self.assertTrue(eventually(lambda m=member: has_hash(m, wanted)), member.log_tail(40))
                self.assertTrue(eventually(lambda m=member: records_of(m)[0] == records_of(old)[0]))

    def test_a_rollback_that_is_killed_keeps_no_record_of_what_it_took_back(self):
        with Set() as group:
            group.initiate()
            parted = Parted(group)
            session = Session("counter")
            self.assertEqual(session.count(parted.old, 1), (1, False))
            parted.part()
            self.assertEqual(session.count(parted.old, 2, w=1), (2, False))
            parted.await_successor()
            parted.write_on_the_new_branch({"_id": "new"})
            self.assertEqual(session.count(parted.new, 2), (2, False))
            parted.mend()
            self.assertTrue(eventually(lambda: parted.old.ask("replSetGetStatus").get("myState") == 9 or rollback_id(parted.old) > parted.id_before, 60))
            parted.old.kill()
            parted.old.start()
            with client_of(group) as client:
                client.app.items.insert_one({"_id": "later"})
            expected = records_of(parted.new)

            def has_the_records():
                try:
                    return parted.old.hello().get("secondary") and records_of(parted.old)[0] == expected[0]
                except NotMasterError:  # it was a secondary, and finds that it has to roll back
                    return False
            self.assertTrue(eventually(has_the_records, 60), parted.old.log_tail(40))
            parted.old.command("replSetStepUp")
            self.assertTrue(eventually(parted.old.is_primary), parted.old.log_tail(30))
            self.assertEqual(session.count(parted.old, 2), (2, True))


if __name__ == "__main__":
    unittest.main()
