"""Documents in and out through the Python driver."""
import datetime
import uuid

import bson
import pymongo
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from pymongo import DeleteMany, DeleteOne, InsertOne, ReplaceOne, UpdateMany, UpdateOne

from support import ServerTest, eventually


class Insert(ServerTest):
    def test_every_type_comes_back_as_it_went(self):
        document = {
            "_id": ObjectId(), "double": 1.5, "string": "grün\0\U0001f40d", "document": {"a": {"b": [1, {"c": None}]}}, "array": [1, "x", []],
            "binary": Binary(b"\0\1\2", 0), "uuid": Binary.from_uuid(uuid.uuid4()), "true": True, "false": False,
            "date": datetime.datetime(1960, 1, 1, 12, 0, 0, 5000), "null": None, "regex": Regex("a.*b", "im"), "code": Code("f()"),
            "scope": Code("f()", {"x": 1}), "int": -2**31, "long": Int64(2**62), "timestamp": Timestamp(5, 6),
            "decimal": Decimal128("1.2300E-5"), "min": MinKey(), "max": MaxKey(), "empty": {}, "": "empty name",
        }
        raw = bson.encode(document)
        self.db.c.insert_one(bson.raw_bson.RawBSONDocument(raw))
        found = self.db.c.with_options(bson.CodecOptions(document_class=bson.raw_bson.RawBSONDocument)).find_one()
        self.assertEqual(found.raw, raw)

    def test_id_is_made_and_put_first(self):
        self.db.command("insert", "c", documents=[{"a": 1, "_id": 7}, {"a": 2}])
        found = list(self.db.c.find().sort("a", 1))
        self.assertEqual([list(d) for d in found], [["_id", "a"], ["_id", "a"]])
        self.assertIsInstance(found[1]["_id"], ObjectId)

    def test_an_ordered_batch_stops_at_the_first_error_an_unordered_one_goes_on(self):
        documents = [{"_id": 1}, {"_id": 1}, {"_id": 2}]
        with self.assertRaises(pymongo.errors.BulkWriteError) as caught:
            self.db.ordered.insert_many(documents)
        self.assertEqual(caught.exception.details["nInserted"], 1)
        error = caught.exception.details["writeErrors"][0]
        self.assertEqual((error["index"], error["code"], error["keyPattern"], error["keyValue"]), (1, 11000, {"_id": 1}, {"_id": 1}))
        self.assertIn("E11000 duplicate key error collection", error["errmsg"])
        with self.assertRaises(pymongo.errors.BulkWriteError) as caught:
            self.db.unordered.insert_many(documents, ordered=False)
        self.assertEqual(caught.exception.details["nInserted"], 2)
        self.assertEqual(self.db.unordered.count_documents({}), 2)

    def test_refuses_what_cannot_be_an_id(self):
        for bad in ([1], Regex("a")):
            with self.subTest(bad=bad):
                self.assertFails(53, self.db.c.insert_one, {"_id": bad})

    def test_unacknowledged_writes_arrive(self):
        self.db.c.with_options(write_concern=pymongo.WriteConcern(w=0)).insert_many([{"_id": i} for i in range(100)])
        self.assertTrue(eventually(lambda: self.db.c.count_documents({}) == 100))


class Find(ServerTest):
    def setUp(self):
        super().setUp()
        self.db.c.insert_many({"_id": i, "a": i % 10, "s": f"name {i:03}", "tags": [i % 3, "all"], "n": {"x": i}} for i in range(500))

    def ids(self, filter, **options):
        return [d["_id"] for d in self.db.c.find(filter, **options).sort("_id", 1)]

    def test_filters(self):
        for filter, expected in [
            ({"a": 3, "_id": {"$lt": 30}}, [3, 13, 23]),
            ({"_id": {"$in": [5, 4, 999, 4]}}, [4, 5]),
            ({"$or": [{"_id": 1}, {"n.x": 2}]}, [1, 2]),
            ({"s": {"$regex": "^name 00[12]"}}, [1, 2]),
            ({"_id": {"$gte": 498}, "tags": "all"}, [498, 499]),
            ({"_id": {"$not": {"$gt": 1}}}, [0, 1]),
            ({"_id": {"$mod": [250, 1]}}, [1, 251]),
            ({"$expr": {"$eq": ["$n.x", 7]}}, [7]),
            ({"missing": {"$exists": True}}, []),
            ({"tags": {"$size": 2}, "_id": {"$type": "int", "$lte": 0}}, [0]),
            ({"tags": {"$elemMatch": {"$gt": 1, "$lt": 3}}, "_id": {"$lt": 6}}, [2, 5]),
            ({"$nor": [{"_id": {"$gte": 2}}]}, [0, 1]),
            ({"_id": {"$bitsAllSet": 0b111100000}, "a": {"$nin": [1]}}, list(i for i in range(480, 500) if i % 10 != 1)),
        ]:
            with self.subTest(filter=filter):
                self.assertEqual(self.ids(filter), expected)

    def test_projection_sort_skip_limit(self):
        found = list(self.db.c.find({"a": 5}, {"s": 1, "n.x": 1, "_id": 0}).sort([("n.x", -1)]).skip(1).limit(2))
        self.assertEqual(found, [{"s": "name 485", "n": {"x": 485}}, {"s": "name 475", "n": {"x": 475}}])
        self.assertEqual(self.db.c.find_one({"_id": 4}, {"tags": {"$slice": 1}, "a": 0, "s": 0}), {"_id": 4, "tags": [1], "n": {"x": 4}})
        self.assertEqual(self.db.c.find_one({"_id": 4}, {"t": {"$add": ["$a", 1]}}), {"_id": 4, "t": 5})

    def test_batches_and_get_more(self):
        cursor = self.db.c.find({}, batch_size=7).sort("_id", 1)
        first = [next(cursor) for _ in range(7)]
        self.assertNotEqual(cursor.cursor_id, 0)
        self.assertEqual([d["_id"] for d in first] + [d["_id"] for d in cursor], list(range(500)))
        self.assertEqual(cursor.cursor_id, 0)

    def test_the_first_batch_holds_101_documents(self):
        reply = self.db.command("find", "c")
        self.assertEqual(len(reply["cursor"]["firstBatch"]), 101)
        rest = self.db.command("getMore", reply["cursor"]["id"], collection="c")
        self.assertEqual(len(rest["cursor"]["nextBatch"]), 399)
        self.assertEqual(rest["cursor"]["id"], 0)

    def test_batch_size_zero_opens_a_cursor_only(self):
        reply = self.db.command("find", "c", batchSize=0)
        self.assertEqual(reply["cursor"]["firstBatch"], [])
        self.assertNotEqual(reply["cursor"]["id"], 0)
        self.assertEqual(len(self.db.command("getMore", reply["cursor"]["id"], collection="c", batchSize=3)["cursor"]["nextBatch"]), 3)

    def test_killed_and_unknown_cursors(self):
        reply = self.db.command("find", "c", batchSize=2)
        cursor = reply["cursor"]["id"]
        self.assertEqual(self.db.command("killCursors", "c", cursors=[cursor, Int64(12345)]),
                         {"cursorsKilled": [cursor], "cursorsNotFound": [12345], "cursorsAlive": [], "cursorsUnknown": [], "ok": 1.0})
        self.assertFails(43, self.db.command, "getMore", cursor, collection="c")

    def test_a_cursor_belongs_to_its_collection(self):
        cursor = self.db.command("find", "c", batchSize=2)["cursor"]["id"]
        self.assertFails(13, self.db.command, "getMore", cursor, collection="other")

    def test_writes_while_a_cursor_is_open(self):
        cursor = self.db.c.find({}, batch_size=10)
        seen = [next(cursor)["_id"] for _ in range(10)]
        self.db.c.delete_many({"_id": {"$gte": 400}})
        seen += [d["_id"] for d in cursor]
        self.assertEqual(len(set(seen)), len(seen))
        self.assertTrue(set(range(400)) <= set(seen))

    def test_dropping_the_collection_kills_its_cursors(self):
        cursor = self.db.c.find({}, batch_size=10)
        next(cursor)
        self.db.c.drop()
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            list(cursor)
        self.assertIn(caught.exception.code, (175, 43))

    def test_large_results_come_in_batches_below_16_mebibytes(self):
        self.db.big.insert_many({"_id": i, "x": "x" * 1_000_000} for i in range(40))
        self.assertEqual(sum(len(d["x"]) for d in self.db.big.find()), 40_000_000)

    def test_errors(self):
        self.assertFails(2, self.db.c.find_one, {"a": {"$unknown": 1}})
        self.assertFails(2, list, self.db.c.find({}).hint("nothing_1"))
        self.assertFails(51091, self.db.c.find_one, {"a": {"$regex": "("}})
        self.assertFails(40415, self.db.command, {"find": "c", "surprise": 1})
        self.assertFails(14, self.db.command, {"find": "c", "filter": 1})
        self.assertFails(73, self.db.command, {"find": 5})
        self.assertFails(59, self.db.command, "noSuchCommand")

    def test_count_and_distinct(self):
        self.assertEqual(self.db.c.count_documents({"a": 1}), 50)
        self.assertEqual(self.db.c.estimated_document_count(), 500)
        self.assertEqual(self.db.command("count", "c", query={"a": 1}, skip=5, limit=10)["n"], 10)
        self.assertEqual(sorted(self.db.c.distinct("tags", {"_id": {"$lt": 5}}), key=str), [0, 1, 2, "all"])
        self.assertEqual(self.db.nothing.distinct("a"), [])

    def test_collation(self):
        self.db.words.insert_many([{"_id": 1, "w": "résumé"}, {"_id": 2, "w": "Resume"}, {"_id": 3, "w": "zebra"}])
        collation = pymongo.collation.Collation("en", strength=1)
        self.assertEqual(self.db.words.count_documents({"w": "RESUME"}, collation=collation), 2)
        self.db.words.create_index("w", collation=collation)
        self.assertEqual(self.db.words.count_documents({"w": "RESUME"}, collation=collation), 2)
        self.assertEqual(self.db.words.count_documents({"w": "RESUME"}), 0)
        self.db.create_collection("ci", collation={"locale": "en", "strength": 2})
        self.db.ci.create_index("w", unique=True)
        self.db.ci.insert_one({"w": "Abc"})
        self.assertFails(11000, self.db.ci.insert_one, {"w": "aBC"})
        self.assertEqual(self.db.ci.find_one({"w": "ABC"})["w"], "Abc")


class Update(ServerTest):
    def test_operators(self):
        cases = [
            ({"a": 1}, {"$set": {"b.c": 2}}, {"a": 1, "b": {"c": 2}}),
            ({"a": 1, "b": 2}, {"$unset": {"a": ""}}, {"b": 2}),
            ({"a": 1}, {"$inc": {"a": 2, "n": 5}}, {"a": 3, "n": 5}),
            ({"a": 3}, {"$mul": {"a": 1.5}}, {"a": 4.5}),
            ({"a": 3}, {"$min": {"a": 2}, "$max": {"b": 7}}, {"a": 2, "b": 7}),
            ({"a": 1}, {"$rename": {"a": "b"}}, {"b": 1}),
            ({"a": [1]}, {"$push": {"a": {"$each": [3, 2], "$sort": 1, "$slice": -2}}}, {"a": [2, 3]}),
            ({"a": [1, 2]}, {"$addToSet": {"a": {"$each": [2, 3]}}}, {"a": [1, 2, 3]}),
            ({"a": [1, 2, 3, 1]}, {"$pull": {"a": {"$lt": 3}}}, {"a": [3]}),
            ({"a": [1, 2, 1]}, {"$pullAll": {"a": [1]}}, {"a": [2]}),
            ({"a": [1, 2, 3]}, {"$pop": {"a": -1}}, {"a": [2, 3]}),
            ({"a": 5}, {"$bit": {"a": {"and": 4}}}, {"a": 4}),
            ({"a": [1, 5]}, {"$inc": {"a.$[]": 1}}, {"a": [2, 6]}),
            ({"a": 1}, [{"$set": {"b": {"$add": ["$a", 1]}}}, {"$unset": "a"}], {"b": 2}),
        ]
        for before, change, after in cases:
            with self.subTest(change=change):
                self.db.c.replace_one({"_id": 1}, before, upsert=True)
                result = self.db.c.update_one({"_id": 1}, change)
                self.assertEqual((result.matched_count, result.modified_count), (1, 1))
                self.assertEqual(self.db.c.find_one({"_id": 1}), {"_id": 1, **after})

    def test_array_filters_and_positional(self):
        self.db.c.insert_one({"_id": 1, "g": [{"v": 1}, {"v": 5}, {"v": 9}]})
        self.db.c.update_one({"_id": 1}, {"$set": {"g.$[big].v": 0}}, array_filters=[{"big.v": {"$gt": 4}}])
        self.db.c.update_one({"_id": 1, "g.v": 1}, {"$set": {"g.$.v": 2}})
        self.assertEqual(self.db.c.find_one()["g"], [{"v": 2}, {"v": 0}, {"v": 0}])

    def test_upsert(self):
        result = self.db.c.update_one({"k": 3, "n": {"$gt": 1}}, {"$set": {"a": 1}, "$setOnInsert": {"b": 2}}, upsert=True)
        found = self.db.c.find_one()
        self.assertEqual(found, {"_id": result.upserted_id, "k": 3, "a": 1, "b": 2})
        self.assertEqual(self.db.c.update_one({"k": 3}, {"$set": {"a": 1}, "$setOnInsert": {"b": 9}}, upsert=True).modified_count, 0)

    def test_many(self):
        self.db.c.insert_many({"_id": i, "a": i % 2} for i in range(2000))
        result = self.db.c.update_many({"a": 1}, {"$set": {"b": 1}})
        self.assertEqual((result.matched_count, result.modified_count), (1000, 1000))
        self.assertEqual(self.db.c.count_documents({"b": 1}), 1000)

    def test_many_does_not_meet_its_own_results(self):
        self.db.c.create_index("a")
        self.db.c.insert_many({"_id": i, "a": i} for i in range(500))
        self.assertEqual(self.db.c.update_many({"a": {"$gte": 0}}, {"$inc": {"a": 1000}}).modified_count, 500)
        self.assertEqual(self.db.c.count_documents({"a": {"$gte": 2000}}), 0)

    def test_refuses_to_change_the_id(self):
        self.db.c.insert_one({"_id": 1})
        self.assertFails(66, self.db.c.update_one, {"_id": 1}, {"$set": {"_id": 2}})

    def test_refuses_conflicting_operators(self):
        self.assertFails(40, self.db.c.update_one, {}, {"$set": {"a": 1}, "$inc": {"a": 1}})
        self.assertFails(9, self.db.c.update_one, {}, {"$nothing": {"a": 1}})

    def test_delete(self):
        self.db.c.insert_many({"_id": i, "a": i % 2} for i in range(1000))
        self.assertEqual(self.db.c.delete_one({"a": 1}).deleted_count, 1)
        self.assertEqual(self.db.c.delete_many({"a": 1}).deleted_count, 499)
        self.assertEqual(self.db.c.delete_many({}).deleted_count, 500)

    def test_bulk(self):
        result = self.db.c.bulk_write([
            InsertOne({"_id": 1}), InsertOne({"_id": 2}), UpdateOne({"_id": 1}, {"$set": {"a": 1}}), UpdateMany({}, {"$inc": {"n": 1}}),
            ReplaceOne({"_id": 3}, {"r": 1}, upsert=True), DeleteOne({"_id": 2}), DeleteMany({"_id": 99}),
        ])
        self.assertEqual((result.inserted_count, result.modified_count, result.upserted_ids, result.deleted_count), (2, 3, {4: 3}, 1))
        self.assertEqual(list(self.db.c.find().sort("_id", 1)), [{"_id": 1, "a": 1, "n": 1}, {"_id": 3, "r": 1}])

    def test_find_and_modify(self):
        self.db.c.insert_many({"_id": i, "a": i} for i in range(5))
        after = pymongo.ReturnDocument.AFTER
        self.assertEqual(self.db.c.find_one_and_update({"a": {"$gt": 1}}, {"$inc": {"a": 10}}, sort=[("a", -1)], return_document=after), {"_id": 4, "a": 14})
        self.assertEqual(self.db.c.find_one_and_replace({"_id": 0}, {"b": 1}), {"_id": 0, "a": 0})
        self.assertEqual(self.db.c.find_one_and_delete({"_id": 1}, projection={"_id": 0}), {"a": 1})
        self.assertIsNone(self.db.c.find_one_and_delete({"_id": 1}))
        self.assertEqual(self.db.c.find_one_and_update({"_id": 9}, {"$set": {"x": 1}}, upsert=True, return_document=after), {"_id": 9, "x": 1})

    def test_many_clients_increment_one_document(self):
        import threading
        self.db.c.insert_one({"_id": 1, "n": 0})

        def work():
            for _ in range(100):
                self.db.c.update_one({"_id": 1}, {"$inc": {"n": 1}})

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(self.db.c.find_one()["n"], 800)

    def test_many_clients_upsert_one_key(self):
        import threading
        self.db.c.create_index("k", unique=True)
        problems = []

        def work():
            for i in range(50):
                try:
                    self.db.c.update_one({"k": i}, {"$inc": {"n": 1}}, upsert=True)
                except pymongo.errors.PyMongoError as e:
                    problems.append(e)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(problems, [])
        self.assertEqual([d["n"] for d in self.db.c.find()], [6] * 50)
