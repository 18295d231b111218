"""$out, $merge and the rules that writes obey, as clients see them: validators, partial filters, timestamps, views."""
import datetime
import threading

import pymongo
from bson import Timestamp

from support import ServerTest, eventually

INSENSITIVE = {"locale": "en", "strength": 2}


class PipelineWrites(ServerTest):
    def setUp(self):
        super().setUp()
        self.db.c.insert_many({"_id": i, "x": i} for i in (1, 2, 3))

    def temporaries(self):
        return [name for name in self.db.list_collection_names() if name.startswith("tmp.")]

    def duplicate(self, *stages):
        with self.assertRaises(pymongo.errors.OperationFailure) as failed:
            self.db.c.aggregate(list(stages))
        self.assertEqual(failed.exception.code, 11000)
        return failed.exception.details["keyPattern"], failed.exception.details["keyValue"]

    def test_both_pass_the_validator_of_their_target_and_out_keeps_its_options(self):
        self.db.create_collection("t", validator={"x": {"$lt": 3}}, collation=INSENSITIVE)
        self.db.t.insert_many([{"_id": 1, "x": 0}, {"_id": 9, "x": 0}])
        options = self.db.t.options()
        self.assertFails(121, self.db.c.aggregate, [{"$out": "t"}])
        self.assertEqual(self.db.t.count_documents({}), 2)
        self.assertFails(121, self.db.c.aggregate, [{"$merge": "t"}])
        self.assertEqual([d["_id"] for d in self.db.t.find().sort("_id", 1)], [1, 2, 9])  # the others of the batch
        self.db.c.aggregate([{"$out": "t"}], bypassDocumentValidation=True)
        self.assertEqual(self.db.t.count_documents({}), 3)
        self.assertEqual(self.db.t.options(), options)
        self.assertEqual(self.temporaries(), [])

    def test_duplicates_say_which_key_they_have(self):
        self.db.u.create_index("u", unique=True)
        self.assertEqual(self.duplicate({"$set": {"u": 1}}, {"$out": "u"}), ({"u": 1}, {"u": 1}))
        self.assertEqual(self.duplicate({"$set": {"u": 1}}, {"$merge": "u"}), ({"u": 1}, {"u": 1}))
        self.db.f.insert_one({"_id": 2})
        self.assertEqual(self.duplicate({"$merge": {"into": "f", "whenMatched": "fail"}}), ({"_id": 1}, {"_id": 2}))
        self.assertEqual(self.db.f.count_documents({}), 3)

    def test_no_merge_changes_an_id(self):
        self.db.k.create_index("k", unique=True)
        self.db.k.insert_one({"_id": 7, "k": 1})
        self.db.s.insert_one({"_id": 8, "k": 1})
        for how in ("replace", "merge", [{"$set": {"_id": 9}}], [{"$replaceWith": {"_id": 9}}]):
            self.assertFails(66, self.db.s.aggregate, [{"$merge": {"into": "k", "on": "k", "whenMatched": how}}])
        self.db.s.aggregate([{"$merge": {"into": "k", "on": "k", "whenMatched": [{"$unset": "_id"}, {"$set": {"n": 1}}]}}])
        self.assertEqual(list(self.db.k.find()), [{"_id": 7, "k": 1, "n": 1}])

    def test_a_target_that_changes_meanwhile_is_not_replaced(self):
        self.db.t.insert_one({"_id": "old"})
        point = lambda mode: self.client.admin.command("configureFailPoint", "hangOutBeforeReplacing", mode=mode)
        self.addCleanup(point, "off")
        point("alwaysOn")
        codes = []

        def write():
            with self.server.client() as client:
                try:
                    client[self.db.name].c.aggregate([{"$out": "t"}])
                    codes.append(0)
                except pymongo.errors.OperationFailure as failure:
                    codes.append(failure.code)

        out = threading.Thread(target=write)
        out.start()
        self.assertTrue(eventually(self.temporaries))
        self.db.command("collMod", "t", validator={"x": 1})
        point("off")
        out.join()
        self.assertEqual(codes, [125])
        self.assertEqual(list(self.db.t.find()), [{"_id": "old"}])
        self.assertEqual(self.temporaries(), [])


class WriteRules(ServerTest):
    def test_partial_filters_compare_strings_by_the_collation_of_their_index(self):
        for name, of_collection, of_index in (("own", {}, {"collation": INSENSITIVE}), ("inherited", {"collation": INSENSITIVE}, {})):
            c = self.db.create_collection(name, **of_collection)
            c.insert_many([{"_id": 1, "s": "YES"}, {"_id": 2, "s": "no"}])
            c.create_index("s", name="s", partialFilterExpression={"s": {"$in": ["yes", "maybe"]}}, **of_index)
            c.insert_many([{"_id": 3, "s": "Maybe"}, {"_id": 4, "s": "never"}])
            c.update_one({"_id": 2}, {"$set": {"s": "yEs"}})
            c.delete_one({"_id": 1})
            self.assertEqual([d["_id"] for d in c.find().hint("s").sort("_id", 1)], [2, 3])
            self.assertTrue(self.db.validate_collection(name)["valid"])

    def test_partial_filters_depend_on_the_document_alone(self):
        for refused in ({"$expr": {"$lt": ["$a", "$$NOW"]}}, {"a": {"$ne": 1}}, {"a": {"$exists": False}}, {"$nor": [{"a": 1}]}):
            self.assertFails(67, self.db.c.create_index, "a", partialFilterExpression=refused)
        self.db.c.create_index("a", partialFilterExpression={"$or": [{"a": 1}, {"b": {"$exists": True}}]})

    def test_empty_timestamps_become_the_present(self):
        empty = Timestamp(0, 0)
        self.db.c.insert_one({"_id": empty, "t": empty, "u": empty, "n": {"t": empty}})
        found = self.db.c.find_one()
        self.assertEqual((found["_id"], found["n"]["t"]), (empty, empty))
        self.assertGreater(found["t"].time, 1_600_000_000)
        self.assertNotEqual(found["t"], found["u"])
        self.db.c.replace_one({}, {"r": empty})
        self.assertGreater(self.db.c.find_one()["r"].time, 1_600_000_000)

    def test_a_replacement_by_the_same_is_validated(self):
        self.db.c.insert_one({"_id": 1, "a": 1})
        self.db.command("collMod", "c", validator={"a": {"$gt": 5}})
        self.assertFails(121, self.db.c.replace_one, {"_id": 1}, {"a": 1})
        self.db.c.update_one({"_id": 1}, {"$set": {"a": 1}})

    def test_validators_know_the_present(self):
        self.db.create_collection("c", validator={"$expr": {"$lte": ["$since", "$$NOW"]}})
        self.db.c.insert_one({"since": datetime.datetime(2020, 1, 1)})
        self.assertFails(121, self.db.c.insert_one, {"since": datetime.datetime(2999, 1, 1)})

    def test_a_view_has_a_collation_of_its_own(self):
        self.db.create_collection("c", collation=INSENSITIVE).insert_many([{"_id": 1, "s": "a"}, {"_id": 2, "s": "A"}])
        self.db.create_collection("plain", viewOn="c", pipeline=[])
        self.db.create_collection("insensitive", viewOn="c", pipeline=[], collation=INSENSITIVE)
        self.assertEqual(list(self.db.plain.find({"s": "A"})), [{"_id": 2, "s": "A"}])
        self.assertEqual(self.db.command("count", "plain", query={"s": "A"})["n"], 1)
        self.assertEqual(len(list(self.db.insensitive.find({"s": "A"}))), 2)
        self.assertEqual(len(list(self.db.insensitive.find({"s": "A"}, collation=INSENSITIVE))), 2)
        self.assertFails(167, lambda: list(self.db.plain.find({}, collation={"locale": "fr"})))
