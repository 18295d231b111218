"""Commands that want much memory or time: pipelines, filters and updates, nested at random, whose values grow. The same seed and number give
the same command. All are well formed: the server has to run them, to an end that it knows."""
import random

DOCUMENTS = 400  # of the collection `c` that the commands read; `u` is what they write
GROWING_TEXT = ("abc", "ä\u4e16", "a" * 300)
PATTERNS = ("(a+)+$", "(a|aa)+b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", ".*.*.*=.*", "a{1,50}b{0,50}c?")


def document(i):
    """A document of `c`."""
    return {"_id": i, "n": i % 17, "x": i * 37 % 101, "text": "a" * (i % 200) + " word" * (i % 20), "list": list(range(i % 60)),
            "parts": [{"k": f"k{j}", "v": j * i % 13} for j in range(i % 12)], "deep": {"a": {"b": {"c": [i, {"d": [i] * (i % 5)}]}}}}


class Expressions:
    """Random expressions of a type, each with a few more inside of it."""

    def __init__(self, chance):
        self.chance = chance

    def pick(self, *makers):
        return self.chance.choice(makers)()

    def number(self, depth):
        chance = self.chance
        if depth <= 0:
            return chance.choice(("$n", "$x", 3, 2**31, -1, 2**62, 0.5, 1e300, {"$size": "$list"}))
        return self.pick(
            lambda: {chance.choice(("$add", "$multiply")): [self.number(depth - 1) for _ in range(chance.choice((2, 3, 50)))]},
            lambda: {"$strLenCP": self.text(depth - 1)},
            lambda: {"$size": [self.array(depth - 1)]},
            lambda: {"$sum": {"$map": {"input": self.array(depth - 1), "in": {"$cond": [{"$isNumber": "$$this"}, "$$this", 1]}}}},
            lambda: {"$reduce": {"input": self.long_range(), "initialValue": 0, "in": {"$add": ["$$value", {"$strLenBytes": {"$toString": "$$this"}}]}}},
            lambda: {"$indexOfArray": [self.array(depth - 1), self.number(0)]})

    def long_range(self):
        return {"$range": [0, self.chance.choice((64, 64, 5000, 300_000, 3_000_000))]}

    def text(self, depth):
        chance = self.chance
        if depth <= 0:
            return chance.choice(("$text", *GROWING_TEXT))
        return self.pick(
            lambda: {"$concat": [self.text(depth - 1) for _ in range(chance.choice((2, 3, 40)))]},
            lambda: self.doubled(self.text(0), lambda value: {"$concat": [value, value]}),
            lambda: {"$replaceAll": {"input": self.text(depth - 1), "find": chance.choice(("a", "", " ")), "replacement": "a" * chance.choice((1, 9, 5000))}},
            lambda: {"$toUpper": self.text(depth - 1)},
            lambda: {"$reduce": {"input": {"$split": [self.text(depth - 1), "a"]}, "initialValue": "", "in": {"$concat": ["$$value", "$$this", "-"]}}},
            lambda: {"$substrCP": [self.text(depth - 1), 0, chance.choice((5, 10**6))]},
            lambda: {"$trim": {"input": self.text(depth - 1), "chars": "a" * chance.choice((1, 10_000))}})

    def doubled(self, initial, grown):
        return {"$reduce": {"input": {"$range": [0, self.chance.choice((8, 20, 64))]}, "initialValue": initial, "in": grown("$$value")}}

    def array(self, depth):
        chance = self.chance
        if depth <= 0:
            return chance.choice(("$list", "$parts", [1, 2, 3], self.long_range()))
        return self.pick(
            lambda: {"$concatArrays": [self.array(depth - 1) for _ in range(chance.choice((2, 5)))]},
            lambda: self.doubled([1, "ab", 3], lambda value: {"$concatArrays": [value, value]}),
            lambda: self.doubled([1], lambda value: [value, value]),
            lambda: {"$map": {"input": self.array(depth - 1), "in": self.value(depth - 1)}},
            lambda: {"$filter": {"input": self.array(depth - 1), "cond": {"$regexMatch": {"input": {"$concat": ["$text", "!"]}, "regex": chance.choice(PATTERNS)}}}},
            lambda: {"$zip": {"inputs": [self.array(depth - 1) for _ in range(chance.choice((2, 20)))], "useLongestLength": True}},
            lambda: {chance.choice(("$setUnion", "$setIntersection")): [self.array(depth - 1), self.array(depth - 1)]},
            lambda: {"$sortArray": {"input": self.array(depth - 1), "sortBy": chance.choice((1, -1, {"v": 1}))}},
            lambda: {"$regexFindAll": {"input": self.text(depth - 1), "regex": chance.choice(PATTERNS)}},
            lambda: {"$objectToArray": [self.object(depth - 1)]})

    def object(self, depth):
        chance = self.chance
        if depth <= 0:
            return chance.choice(("$deep", "$$ROOT", {"a": "$text"}))
        return self.pick(
            lambda: {"$mergeObjects": [self.object(depth - 1) for _ in range(chance.choice((2, 30)))]},
            lambda: {"$arrayToObject": {"$map": {"input": self.long_range(), "in": [{"$toString": "$$this"}, "$$this"]}}},
            lambda: self.doubled({"a": 1}, lambda value: {"a": value, "b": value}),
            lambda: {"$setField": {"field": "f" * chance.choice((1, 5000)), "input": self.object(depth - 1), "value": self.value(depth - 1)}})

    def value(self, depth):
        return self.pick(lambda: self.number(depth), lambda: self.text(depth), lambda: self.array(depth), lambda: self.object(depth),
                         lambda: self.nested())

    def nested(self):
        value = "$x"
        for _ in range(self.chance.choice((5, 20, 40))):
            value = self.chance.choice(({"$cond": [{"$gt": ["$n", 3]}, value, 1]}, {"$ifNull": [None, value]}, [value], {"a": value}))
        return value


class Filters(Expressions):
    def filter(self, depth):
        chance = self.chance
        if depth <= 0:
            return chance.choice(({"n": {"$gt": 3}}, {"text": {"$regex": chance.choice(PATTERNS)}}, {"parts.v": {"$in": list(range(5000))}},
                                  {"list": {"$all": list(range(40))}}, {"deep.a.b.c.d": {"$exists": True}}, {}))
        return self.pick(
            lambda: {chance.choice(("$and", "$or", "$nor")): [self.filter(depth - 1) for _ in range(60 if depth == 1 and chance.random() < 0.2 else 2)]},
            lambda: {"$expr": {"$gt": [self.number(2), 3]}},
            lambda: {"parts": {"$elemMatch": self.filter(0)}},
            lambda: {"text": {"$in": ["a" * i for i in range(chance.choice((10, 200)))]}},
            lambda: {"list": {"$not": {"$elemMatch": {"$gte": 0, "$mod": [7, 3]}}}})

    def stage(self, depth):
        chance = self.chance
        return self.pick(
            lambda: {"$match": self.filter(2)},
            lambda: {"$project": {"v": self.value(3)}},
            lambda: {"$set": {"text": self.text(3), "list": self.array(2)}},
            lambda: {"$group": {"_id": chance.choice((None, "$n", self.value(1))), "all": {chance.choice(("$push", "$addToSet", "$mergeObjects")): "$$ROOT"}}},
            lambda: {"$group": {"_id": "$_id", "top": {"$topN": {"n": 10**6, "sortBy": {"x": 1}, "output": self.value(1)}}}},
            lambda: {"$sort": {chance.choice(("text", "list", "deep")): chance.choice((1, -1)), "_id": 1}},
            lambda: {"$unwind": chance.choice(("$list", "$parts"))},
            lambda: {"$set": {"list": self.long_range()}},
            lambda: self.join(depth),
            lambda: {"$facet": {f"f{i}": [self.stage(0) for _ in range(2)] for i in range(chance.choice((1, 3, 12)))}} if depth > 0 else {"$skip": 1},
            lambda: {"$bucketAuto": {"groupBy": self.number(1), "buckets": chance.choice((2, 10**6))}},
            lambda: {"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"w": {chance.choice(("$push", "$addToSet", "$max")): "$$ROOT",
                                                                                "window": {"documents": ["unbounded", "current"]}}}}},
            lambda: {"$sortByCount": {"$ifNull": [self.value(2), 0]}},
            lambda: {"$replaceWith": self.object(2)},
            lambda: {"$sample": {"size": chance.choice((1, 10**6))}})

    def join(self, depth):
        inner = [self.stage(depth - 1)] if depth > 0 else []
        return self.pick(
            lambda: {"$lookup": {"from": "c", "pipeline": inner, "as": "joined"}},
            lambda: {"$lookup": {"from": "c", "localField": "list", "foreignField": "list", "as": "joined"}},
            lambda: {"$graphLookup": {"from": "c", "startWith": "$list", "connectFromField": "list", "connectToField": "list", "as": "graph"}},
            lambda: {"$unionWith": {"coll": "c", "pipeline": inner}})

    def pipeline(self):
        return [self.stage(2) for _ in range(self.chance.choice((1, 2, 3, 5, 30)))]

    def update(self):
        chance = self.chance
        path = "deep." + ".".join("p" * chance.choice((1, 3)) for _ in range(chance.choice((1, 20, 90))))
        many = list(range(chance.choice((10, 50_000))))
        return self.pick(
            lambda: {"$push": {"list": {"$each": many, "$sort": 1, "$slice": chance.choice((-5, 10**6))}}},
            lambda: {"$addToSet": {"list": {"$each": many}}},
            lambda: {"$pull": {"parts": {"v": {"$in": many}}}},
            lambda: {"$set": {path: "x" * chance.choice((10, 100_000))}},
            lambda: {"$set": {f"wide{i}": chance.randrange(10) for i in range(chance.choice((10, 20_000)))}},
            lambda: {"$set": {f"list.{chance.choice((5, 1_500_000, 2_000_000))}": 1}},
            lambda: {"$mul": {"parts.$[].v": 2**40}},
            lambda: {"$inc": {"list.$[]": 1}},
            lambda: {"$rename": {"deep": "text.moved"}},
            lambda: [{"$set": {"grown": self.value(3)}}],
            lambda: [{"$replaceWith": {"$mergeObjects": ["$$ROOT", self.object(3)]}}])


def make_command(seed, number, slowness=1):
    """A command on the collections `c` and `u`, with a limit of its time, most often a short one."""
    make = Filters(random.Random(f"{seed}/{number}"))
    limit = {"maxTimeMS": int(make.chance.choice((50, 200, 200, 200, 500, 2000)) * slowness)}
    return make.pick(
        lambda: {"aggregate": "c", "pipeline": make.pipeline(), "cursor": {"batchSize": 20}, **limit},
        lambda: {"aggregate": "c", "pipeline": make.pipeline(), "cursor": {"batchSize": 20}, "allowDiskUse": make.chance.choice((True, False)), **limit},
        lambda: {"aggregate": "c", "pipeline": [*make.pipeline(), {"$merge": "u"}], "cursor": {}, **limit},
        lambda: {"find": "c", "filter": make.filter(3), "projection": {"v": make.value(3)}, "sort": {"text": 1}, "batchSize": 20, **limit},
        lambda: {"update": "u", "updates": [{"q": make.filter(1), "u": make.update(), "multi": True}], **limit},
        lambda: {"findAndModify": "u", "query": make.filter(1), "sort": {"x": 1}, "update": make.update(), "new": True, **limit},
        lambda: {"distinct": "c", "key": make.chance.choice(("list", "parts.v", "text")), "query": make.filter(3), **limit},
        lambda: {"explain": {"aggregate": "c", "pipeline": make.pipeline(), "cursor": {}}, "verbosity": "executionStats", **limit})
