"""Collections, indexes, views, validators, capped collections: what is declared about data."""
import threading

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel

from support import ServerTest


def stages(plan):
    """Names of all stages of a plan, from the top."""
    names = [plan["stage"]]
    for child in [plan.get("inputStage")] + plan.get("inputStages", []):
        if child:
            names += stages(child)
    return names


class Indexes(ServerTest):
    def winning(self, filter, **options):
        plan = self.db.command("explain", {"find": "c", "filter": filter, **options}, verbosity="queryPlanner")
        return plan["queryPlanner"]["winningPlan"]

    def test_create_list_drop(self):
        c = self.db.c
        self.assertEqual(c.create_index([("a", ASCENDING), ("b", DESCENDING)]), "a_1_b_-1")
        c.create_indexes([IndexModel("x", unique=True, name="u"), IndexModel("y", sparse=True), IndexModel("z", partialFilterExpression={"z": {"$gt": 5}})])
        self.assertEqual(sorted(c.index_information()), ["_id_", "a_1_b_-1", "u", "y_1", "z_1"])
        again = self.db.command("createIndexes", "c", indexes=[{"key": {"a": 1, "b": -1}, "name": "a_1_b_-1"}])
        self.assertEqual((again["numIndexesBefore"], again["numIndexesAfter"], again["note"]), (5, 5, "all indexes already exist"))
        c.drop_index("u")
        c.drop_index([("a", 1), ("b", -1)])
        self.assertEqual(sorted(c.index_information()), ["_id_", "y_1", "z_1"])
        c.drop_indexes()
        self.assertEqual(sorted(c.index_information()), ["_id_"])
        self.assertFails(27, c.drop_index, "u")
        self.assertFails(72, c.drop_index, "_id_")

    def test_conflicting_definitions(self):
        self.db.c.create_index("a", name="n")
        self.assertFails(85, self.db.c.create_index, "a", name="m")
        self.assertFails(86, self.db.c.create_index, "b", name="n")
        self.assertFails(67, self.db.c.create_index, [("a", 0)])

    def test_a_find_uses_an_index_when_one_fits(self):
        self.db.c.insert_many({"_id": i, "a": i % 100, "b": i, "t": [i, -i]} for i in range(2000))
        self.db.c.create_index([("a", 1), ("b", -1)])
        self.db.c.create_index("t")
        self.assertIn("IXSCAN", stages(self.winning({"a": 5})))
        self.assertIn("IXSCAN", stages(self.winning({"a": 5, "b": {"$gt": 3}})))
        self.assertIn("IXSCAN", stages(self.winning({"a": {"$in": [1, 2]}})))
        self.assertIn("IXSCAN", stages(self.winning({"t": 7})))
        self.assertNotIn("SORT", stages(self.winning({"a": 5}, sort={"b": -1})))
        self.assertIn("SORT", stages(self.winning({"a": 5}, sort={"c": -1})))
        self.assertEqual(stages(self.winning({"_id": 5})), ["IDHACK"])
        self.assertIn("COLLSCAN", stages(self.winning({"z": 5})))
        self.assertNotIn("FETCH", stages(self.winning({"a": 5}, projection={"_id": 0, "a": 1, "b": 1})))
        run = self.db.command("explain", {"find": "c", "filter": {"a": 5}}, verbosity="executionStats")["executionStats"]
        self.assertEqual((run["nReturned"], run["totalKeysExamined"], run["totalDocsExamined"]), (20, 20, 20))

    def test_index_and_scan_agree(self):
        import random
        r = random.Random(7)
        values = [None, 1, 1.5, -3, "x", "y", [1, 2], [], {"k": 1}, True, [None], ["x", 5]]
        plain = [v for v in values if not isinstance(v, list)]  # one index takes one array of a document
        self.db.c.insert_many({"_id": i, **{k: r.choice(values if k == "a" else plain) for k in "abc" if r.random() < 0.8}} for i in range(400))
        filters = [{"a": v} for v in values] + [{"a": {"$gt": 1}}, {"a": {"$lte": 1}}, {"a": {"$ne": 1}}, {"a": {"$exists": False}}, {"a": {"$in": [None, "x"]}},
                   {"a": {"$gte": 1, "$lt": 2}}, {"a": 1, "b": {"$gt": "a"}}, {"a": {"$type": "string"}}, {"a": {"$elemMatch": {"$gte": 1, "$lt": 2}}},
                   {"$or": [{"a": 1}, {"b": "x"}]}, {"a": {"$regex": "^x"}}, {"a": {"$not": {"$gt": 1}}}, {"a.0": 1}, {"a": {"$all": [1, 2]}}, {"a": {"$size": 2}}]
        scans = [sorted(d["_id"] for d in self.db.c.find(f).hint([("$natural", 1)])) for f in filters]
        for keys in ([("a", 1)], [("a", -1), ("b", 1)], [("b", 1), ("a", 1)]):
            self.db.c.create_index(keys)
        for f, scan in zip(filters, scans):
            with self.subTest(filter=f):
                self.assertEqual(sorted(d["_id"] for d in self.db.c.find(f)), scan)
                for keys in ([("a", 1)], [("a", -1), ("b", 1)]):
                    self.assertEqual(sorted(d["_id"] for d in self.db.c.find(f).hint(keys)), scan, keys)
        self.assertTrue(self.db.validate_collection("c")["valid"])

    def test_unique(self):
        self.db.c.create_index([("a", 1), ("b", 1)], unique=True)
        self.db.c.insert_one({"_id": 1, "a": 1, "b": 1})
        error = self.assertFails(11000, self.db.c.insert_one, {"_id": 2, "a": 1, "b": 1})
        self.assertIn("index: a_1_b_1 dup key: { a: 1, b: 1 }", str(error))
        self.db.c.insert_one({"_id": 3, "a": 1, "b": 2})
        self.assertFails(11000, self.db.c.update_one, {"_id": 3}, {"$set": {"b": 1}})
        self.db.c.insert_one({"_id": 4})
        self.assertFails(11000, self.db.c.insert_one, {"_id": 5})

    def test_unique_over_existing_duplicates_is_refused_and_leaves_nothing(self):
        self.db.c.insert_many([{"a": 1}, {"a": 1}])
        self.assertFails(11000, self.db.c.create_index, "a", unique=True)
        self.assertEqual(list(self.db.c.index_information()), ["_id_"])

    def test_sparse_and_partial(self):
        self.db.c.create_index("s", sparse=True, unique=True)
        self.db.c.create_index("p", unique=True, partialFilterExpression={"p": {"$gt": 10}})
        self.db.c.insert_many([{"p": 5}, {"p": 5}, {}])
        self.db.c.insert_one({"s": 1, "p": 11})
        self.assertFails(11000, self.db.c.insert_one, {"s": 1})
        self.assertFails(11000, self.db.c.insert_one, {"p": 11})
        self.assertEqual(self.db.c.count_documents({"p": 5}), 2)
        self.assertEqual(self.db.c.count_documents({"p": 11}), 1)
        self.assertEqual(self.db.c.count_documents({"s": None}), 3)

    def test_indexes_keep_up_with_writes(self):
        self.db.c.create_index("a")
        self.db.c.insert_many({"_id": i, "a": [i, i + 1]} for i in range(300))
        self.db.c.update_many({"_id": {"$lt": 100}}, {"$pop": {"a": 1}})
        self.db.c.delete_many({"_id": {"$gte": 200}})
        found = self.db.validate_collection("c", full=True)
        self.assertTrue(found["valid"], found)
        self.assertEqual(found["keysPerIndex"], {"_id_": 200, "a_1": 300})
        self.assertEqual(self.db.c.count_documents({"a": 100}), 1)

    def test_many_writers_of_arrays_do_not_get_in_each_others_way(self):
        self.db.c.create_index([("tags", 1), ("n", 1)])
        conflicts = lambda: self.client.admin.command("serverStatus")["metrics"]["operation"]["writeConflicts"]
        before, failures = conflicts(), []

        def write(worker):
            try:
                for i in range(250):
                    self.db.c.insert_one({"_id": worker * 1000 + i, "n": i, "tags": [worker, i, "all"]})
            except pymongo.errors.PyMongoError as error:
                failures.append(error)

        writers = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        self.assertFalse(failures)
        self.assertEqual(self.db.c.count_documents({"tags": "all"}), 2000)
        self.assertLess(conflicts() - before, 100, "the index becomes multikey once, not with every document")

    def test_hint_and_hidden(self):
        self.db.c.insert_many({"a": i} for i in range(10))
        self.db.c.create_index("a", name="n")
        self.assertIn("IXSCAN", stages(self.winning({}, hint="n")))
        self.assertIn("COLLSCAN", stages(self.winning({"a": 1}, hint={"$natural": 1})))
        self.db.command("collMod", "c", index={"name": "n", "hidden": True})
        self.assertIn("COLLSCAN", stages(self.winning({"a": 1})))


class Collections(ServerTest):
    def test_create_list_drop_rename(self):
        self.db.create_collection("a")
        self.assertFails(48, self.db.command, "create", "a", capped=True, size=4096)
        self.db.b.insert_one({})
        self.assertEqual(sorted(self.db.list_collection_names()), ["a", "b"])
        info = next(iter(self.db.list_collections(filter={"name": "a"})))
        self.assertEqual((info["type"], info["idIndex"]), ("collection", {"v": 2, "key": {"_id": 1}, "name": "_id_"}))
        self.db.b.rename("c")
        self.assertFails(26, self.db.b.rename, "d")
        self.assertFails(48, self.db.c.rename, "a")
        self.db.c.rename("a", dropTarget=True)
        self.assertEqual(self.db.list_collection_names(), ["a"])
        self.assertEqual(self.db.a.count_documents({}), 1)
        self.assertIn(self.db.name, self.client.list_database_names())
        self.client.drop_database(self.db.name)
        self.assertNotIn(self.db.name, self.client.list_database_names())

    def test_bad_names(self):
        for name in ("a$b", ".a", "x" * 300):
            with self.subTest(name=name[:10]):
                self.assertFails(73, self.db.command, "insert", name, documents=[{}])

    def test_views(self):
        self.db.c.insert_many({"_id": i, "a": i % 3} for i in range(30))
        self.db.create_collection("v", viewOn="c", pipeline=[{"$match": {"a": 1}}, {"$set": {"seen": True}}])
        self.db.create_collection("w", viewOn="v", pipeline=[{"$match": {"_id": {"$lt": 10}}}])
        self.assertEqual(list(self.db.w.find({}, {"_id": 1}).sort("_id", -1)), [{"_id": 7}, {"_id": 4}, {"_id": 1}])
        self.assertEqual(self.db.v.count_documents({"seen": True}), 10)
        self.assertEqual(self.db.v.distinct("a"), [1])
        self.assertEqual(self.db.command("count", "v")["n"], 10)
        self.assertFails(166, self.db.v.insert_one, {})
        self.assertEqual({c["name"]: c["type"] for c in self.db.list_collections(filter={"type": "view"})}, {"v": "view", "w": "view"})

    def test_validators(self):
        self.db.create_collection("c", validator={"$jsonSchema": {"required": ["a"], "properties": {"a": {"bsonType": "int"}}}})
        self.db.c.insert_one({"_id": 1, "a": 1})
        error = self.assertFails(121, self.db.c.insert_one, {"_id": 2, "a": "x"})
        self.assertEqual(error.details["errInfo"]["failingDocumentId"], 2)
        self.assertFails(121, self.db.c.update_one, {"_id": 1}, {"$unset": {"a": 1}})
        self.db.c.insert_many([{"_id": 3}], bypass_document_validation=True)
        self.db.command("collMod", "c", validationLevel="off")
        self.db.c.insert_one({"_id": 4})

    def test_capped_collections_forget_their_oldest(self):
        self.db.create_collection("c", capped=True, size=100_000, max=10)
        self.db.c.insert_many({"_id": i} for i in range(50))
        self.assertEqual([d["_id"] for d in self.db.c.find()], list(range(40, 50)))
        self.assertEqual([d["_id"] for d in self.db.c.find().sort("$natural", -1)], list(range(49, 39, -1)))

    def test_statistics(self):
        self.db.c.insert_many({"x": "y" * 100} for _ in range(100))
        stats = self.db.command("collStats", "c")
        self.assertEqual((stats["count"], stats["nindexes"], stats["ns"]), (100, 1, f"{self.db.name}.c"))
        self.assertGreater(stats["size"], 100 * 100)
        self.assertEqual(self.db.command("dbStats")["collections"], 1)

    def test_everything_is_there_after_a_restart(self):
        self.db.c.insert_many({"_id": i, "a": i} for i in range(100))
        self.db.c.create_index("a", unique=True, name="ua")
        self.db.create_collection("v", viewOn="c", pipeline=[{"$match": {"a": 5}}])
        self.db.create_collection("k", capped=True, size=4096)
        self.db.gone.insert_one({})
        self.db.gone.drop()
        before = sorted(map(repr, self.db.list_collections()))
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.assertEqual(sorted(map(repr, self.db.list_collections())), before)
        self.assertEqual(sorted(self.db.c.index_information()), ["_id_", "ua"])
        self.assertEqual((self.db.c.count_documents({}), self.db.c.estimated_document_count(), self.db.v.count_documents({})), (100, 100, 1))
        self.assertFails(11000, self.db.c.insert_one, {"a": 5})


class Aggregation(ServerTest):
    def setUp(self):
        super().setUp()
        self.db.sales.insert_many({"_id": i, "item": "abc"[i % 3], "price": i, "tags": ["x", "y"][: i % 3]} for i in range(90))

    def run_pipeline(self, *pipeline, **options):
        return list(self.db.sales.aggregate(list(pipeline), **options))

    def test_stages(self):
        self.assertEqual(self.run_pipeline({"$match": {"_id": {"$lt": 30}}}, {"$group": {"_id": "$item", "n": {"$sum": 1}, "most": {"$max": "$price"}}}, {"$sort": {"_id": 1}}),
                         [{"_id": "a", "n": 10, "most": 27}, {"_id": "b", "n": 10, "most": 28}, {"_id": "c", "n": 10, "most": 29}])
        self.assertEqual(self.run_pipeline({"$unwind": "$tags"}, {"$sortByCount": "$tags"}), [{"_id": "x", "count": 60}, {"_id": "y", "count": 30}])
        self.assertEqual(self.run_pipeline({"$count": "n"}), [{"n": 90}])
        self.assertEqual(self.run_pipeline({"$sort": {"price": -1}}, {"$skip": 1}, {"$limit": 1}, {"$project": {"p": {"$multiply": ["$price", 2]}, "_id": 0}}), [{"p": 176}])
        facets = self.run_pipeline({"$facet": {"n": [{"$count": "n"}], "first": [{"$sort": {"_id": 1}}, {"$limit": 1}, {"$project": {"_id": 1}}]}})
        self.assertEqual(facets, [{"n": [{"n": 90}], "first": [{"_id": 0}]}])
        self.assertEqual(self.run_pipeline({"$bucket": {"groupBy": "$price", "boundaries": [0, 10, 90], "output": {"n": {"$sum": 1}}}}), [{"_id": 0, "n": 10}, {"_id": 10, "n": 80}])

    def test_lookup_union_out_merge(self):
        self.db.items.insert_many([{"_id": "a", "name": "apple"}, {"_id": "b", "name": "bread"}])
        found = self.run_pipeline({"$match": {"_id": {"$lt": 3}}}, {"$lookup": {"from": "items", "localField": "item", "foreignField": "_id", "as": "i"}}, {"$sort": {"_id": 1}})
        self.assertEqual([[i["name"] for i in d["i"]] for d in found], [["apple"], ["bread"], []])
        self.assertEqual(len(self.run_pipeline({"$unionWith": "items"})), 92)
        self.run_pipeline({"$match": {"item": "a"}}, {"$out": "result"})
        self.assertEqual(self.db.result.count_documents({}), 30)
        self.run_pipeline({"$match": {"item": "a"}}, {"$set": {"price": 0}}, {"$merge": {"into": "result", "whenMatched": "replace"}})
        self.assertEqual(self.db.result.count_documents({"price": 0}), 30)

    def test_cursors_over_pipelines(self):
        cursor = self.db.sales.aggregate([{"$sort": {"_id": 1}}], batchSize=7)
        self.assertEqual([d["_id"] for d in cursor], list(range(90)))

    def test_big_groups_and_sorts_spill(self):
        self.db.big.insert_many({"_id": i, "k": (i * 7919) % 100_000, "x": "x" * 5000} for i in range(30_000))
        previous = -1
        for d in self.db.big.aggregate([{"$sort": {"k": 1}}, {"$project": {"k": 1, "x": 1}}], allowDiskUse=True):
            self.assertGreaterEqual(d["k"], previous)
            previous = d["k"]
        self.assertFails(292, self.db.big.aggregate, [{"$sort": {"k": 1}}], allowDiskUse=False)

    def test_errors(self):
        self.assertFails(40324, self.run_pipeline, {"$nothing": 1})
        self.assertFails(40323, self.run_pipeline, {"$match": {}, "$limit": 1})
        self.assertFails(15952, self.run_pipeline, {"$group": {"_id": 1, "x": {"$nothing": 1}}})
        self.assertFails(2, self.run_pipeline, {"$project": {"x": {"$divide": [1, 0]}}})
        self.assertFails(9, self.db.command, {"aggregate": "sales", "pipeline": []})

    def test_database_level(self):
        self.assertEqual(list(self.db.aggregate([{"$documents": [{"a": 1}]}])), [{"a": 1}])
        self.assertGreaterEqual(len(list(self.client.admin.aggregate([{"$currentOp": {}}]))), 1)
