#include "storage/query/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "messaging/bson/json.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {
namespace {

using bson::Document;

/// A source that yields between documents.
class Rows final : public Stage {
 public:
  explicit Rows(std::vector<Document> rows) : rows_(std::move(rows)) {}
  StatusWith<Next> next() override {
    if (tick_++ % 2 == 0) return Next::yield();
    return at_ < rows_.size() ? Next::of(rows_[at_++].view()) : Next::end();
  }
  std::string_view name() const override { return "rows"; }
  void serialize(bson::Builder&) const override {}

 private:
  std::vector<Document> rows_;
  size_t at_ = 0;
  int tick_ = 0;
};

std::vector<Document> documents(const std::string& json) {
  const auto holder = *bson::fromJson("{\"a\": " + json + "}");
  std::vector<Document> result;
  for (const auto& e : holder["a"].asArray()) result.emplace_back(e.asDocument());
  return result;
}

/// Collections in memory.
class FakeEnvironment final : public PipelineEnvironment {
 public:
  std::map<std::string, std::vector<Document>> collections;

  StatusWith<StagePtr> scan(const CollectionName& from, const PushDown& request) override {
    const auto filter = parseMatch(request.filter, *request.parse);
    if (!filter.isOK()) return filter.status();
    std::vector<Document> found;
    for (const auto& document : collections[from.collection])
      if ((*filter)->matches(document)) found.push_back(document);
    return StagePtr(std::make_unique<Rows>(std::move(found)));
  }
  StatusWith<StagePtr> openSource(const CollectionName&, const bson::Element& spec) override {
    return StagePtr(std::make_unique<Rows>(std::vector<Document>{bson::doc("source", spec.name())}));
  }
  StatusWith<std::unique_ptr<OutWriter>> openOut(const CollectionName& target) override {
    struct Writer final : OutWriter {
      Writer(FakeEnvironment& e, std::string n) : environment(e), name(std::move(n)) {}
      Status insert(bson::View d) override {
        rows.emplace_back(d);
        return Status::OK();
      }
      Status finish() override {
        environment.collections[name] = rows;
        return Status::OK();
      }
      FakeEnvironment& environment;
      std::string name;
      std::vector<Document> rows;
    };
    return std::unique_ptr<OutWriter>(std::make_unique<Writer>(*this, target.collection));
  }
  StatusWith<bool> hasUniqueIndex(const CollectionName&, const std::vector<std::string>& fields) override {
    return fields == std::vector<std::string>{"_id"};
  }
  StatusWith<bool> modifyOne(const CollectionName& in, bson::View query, const Change& change) override {
    ParseContext context;
    const auto filter = parseMatch(query, context);
    for (auto& document : collections[in.collection]) {
      if (!(*filter)->matches(document)) continue;
      auto changed = change(document);
      if (!changed.isOK()) return changed.status();
      if (*changed) document = **changed;
      return true;
    }
    return false;
  }
  Status insert(const CollectionName& into, bson::View document) override {
    collections[into.collection].emplace_back(document);
    return Status::OK();
  }
};

class PipelineTest : public testing::Test {
 protected:
  PipelineContext context() {
    PipelineContext result;
    result.parse = &parse_;
    result.environment = &environment_;
    result.on = {"db", "c"};
    result.random = [] { return 0.5; };
    result.memoryLimit = memoryLimit_;
    result.spill = spill_;
    return result;
  }
  static std::string error(const Status& status) {
    return std::to_string(static_cast<int>(status.code())) + " " + status.reason();
  }
  /// The results as one line of JSON, or the error.
  std::string run(const std::string& pipeline, const std::string& input, bool optimized = true) {
    const auto spec = bson::fromJson("{\"p\": " + pipeline + "}");
    if (!spec.isOK()) return "bad test: " + spec.status().toString();
    auto parsed = Pipeline::parse((*spec)["p"].asArray(), context());
    if (!parsed.isOK()) return error(parsed.status());
    if (optimized && !(*parsed)->optimize().isOK()) return "optimize failed";
    if (!(*parsed)->startsWithSource()) (*parsed)->attach(std::make_unique<Rows>(documents(input)));
    bson::Builder out;
    while (true) {
      const auto next = (*parsed)->next();
      if (!next.isOK()) return error(next.status());
      if (next->isEnd()) break;
      if (next->isDocument()) out.push(next->document);
    }
    return bson::toRelaxedJson(out.finishArray().element());
  }
  static std::string json(const std::string& array) {
    const auto holder = *bson::fromJson("{\"a\": " + array + "}");
    return bson::toRelaxedJson(holder["a"]);
  }
  void expect(const std::string& pipeline, const std::string& input, const std::string& expected) {
    EXPECT_EQ(run(pipeline, input), json(expected)) << pipeline;
    EXPECT_EQ(run(pipeline, input, false), json(expected)) << "not optimized: " << pipeline;
  }

  ParseContext parse_;
  FakeEnvironment environment_;
  int64_t memoryLimit_ = 100 << 20;
  SpillFileFactory spill_;
};

constexpr const char* kSales =
    R"([{"_id": 1, "item": "a", "qty": 5, "tags": ["x", "y"]}, {"_id": 2, "item": "b", "qty": 1, "tags": []},
  {"_id": 3, "item": "a", "qty": 3}, {"_id": 4, "item": "c", "qty": 9, "tags": "z"}])";

TEST_F(PipelineTest, NamesWhatItCannotParse) {
  EXPECT_EQ(run(R"([{"$foo": 1}])", "[]"), "40324 Unrecognized pipeline stage name: '$foo'");
  EXPECT_EQ(run(R"([{"$match": {}, "$sort": {}}])", "[]"),
            "40323 A pipeline stage specification object must contain exactly one field.");
  EXPECT_EQ(run(R"([1])", "[]"), "14 Each element of the 'pipeline' array must be an object");
  EXPECT_EQ(run(R"([{"$out": "x"}, {"$match": {}}])", "[]"), "40601 $out can only be the final stage in the pipeline");
  EXPECT_EQ(run(R"([{"$match": {}}, {"$documents": []}])", "[]"),
            "40602 $documents is only valid as the first stage in a pipeline");
  EXPECT_EQ(run(R"([{"$changeStream": {}}])", "[]"), "40573 The $changeStream stage is only supported on replica sets");
}

TEST_F(PipelineTest, MatchesSortsLimitsAndSkips) {
  expect(
      R"([{"$match": {"qty": {"$gt": 1}}}, {"$sort": {"qty": -1}}, {"$skip": 1}, {"$limit": 1}, {"$project": {"qty": 1}}])",
      kSales, R"([{"_id": 1, "qty": 5}])");
  expect(R"([{"$sort": {"item": 1, "qty": 1}}, {"$limit": 3}, {"$project": {"_id": 1}}])", kSales,
         R"([{"_id": 3}, {"_id": 1}, {"_id": 2}])");
  expect(R"([{"$count": "n"}])", kSales, R"([{"n": 4}])");
  expect(R"([{"$count": "n"}])", "[]", "[]");
  EXPECT_EQ(run(R"([{"$limit": 0}])", "[]"), "15958 the limit must be positive");
}

TEST_F(PipelineTest, ProjectsAndAddsFields) {
  expect(R"([{"$project": {"_id": 0, "item": 1, "double": {"$multiply": ["$qty", 2]}}}, {"$limit": 1}])", kSales,
         R"([{"item": "a", "double": 10}])");
  expect(R"([{"$project": {"tags": 0, "_id": 0}}, {"$limit": 1}])", kSales, R"([{"item": "a", "qty": 5}])");
  expect(R"([{"$addFields": {"a.b": "$qty", "qty": "$$REMOVE"}}, {"$unset": ["tags"]}, {"$limit": 1}])", kSales,
         R"([{"_id": 1, "item": "a", "a": {"b": 5}}])");
  expect(R"([{"$replaceRoot": {"newRoot": {"v": "$item"}}}, {"$limit": 1}])", kSales, R"([{"v": "a"}])");
  EXPECT_EQ(run(R"([{"$replaceWith": "$item"}])", kSales).substr(0, 5), "40228");
  EXPECT_EQ(run(R"([{"$project": {"a": 1, "b": 0}}])", kSales),
            "31254 Invalid $project :: caused by :: Cannot do exclusion on field b in inclusion projection");
}

TEST_F(PipelineTest, GroupsByKeysThatCompareEqual) {
  expect(
      R"([{"$group": {"_id": "$item", "n": {"$sum": 1}, "total": {"$sum": "$qty"}, "avg": {"$avg": "$qty"}, "ids": {"$push": "$_id"}}}, {"$sort": {"_id": 1}}])",
      kSales,
      R"([{"_id": "a", "n": 2, "total": 8, "avg": 4.0, "ids": [1, 3]}, {"_id": "b", "n": 1, "total": 1, "avg": 1.0, "ids": [2]},
             {"_id": "c", "n": 1, "total": 9, "avg": 9.0, "ids": [4]}])");
  expect(R"([{"$group": {"_id": "$k", "n": {"$count": {}}}}, {"$sort": {"_id": 1}}])",
         R"([{"k": 1}, {"k": 1.0}, {"k": null}, {}])", R"([{"_id": null, "n": 2}, {"_id": 1, "n": 2}])");
  expect(
      R"([{"$group": {"_id": {"i": "$item"}, "f": {"$first": "$qty"}, "l": {"$last": "$qty"}}}, {"$match": {"_id.i": "a"}}])",
      kSales, R"([{"_id": {"i": "a"}, "f": 5, "l": 3}])");
  expect(R"([{"$group": {"_id": null, "t": {"$topN": {"n": 2, "sortBy": {"qty": -1}, "output": "$_id"}},
              "b": {"$bottom": {"sortBy": {"qty": -1}, "output": "$_id"}}, "m": {"$minN": {"n": 2, "input": "$qty"}}}}])",
         kSales, R"([{"_id": null, "t": [4, 1], "b": 2, "m": [1, 3]}])");
  expect(R"([{"$sortByCount": "$item"}, {"$limit": 1}])", kSales, R"([{"_id": "a", "count": 2}])");
  EXPECT_EQ(run(R"([{"$group": {"n": {"$sum": 1}}}])", kSales), "15955 a group specification must include an _id");
  EXPECT_EQ(run(R"([{"$group": {"_id": 1, "n": {"$foo": 1}}}])", kSales), "15952 unknown group operator '$foo'");
}

TEST_F(PipelineTest, SpillsGroupsThatPassTheMemoryLimit) {
  std::string input = "[";
  for (int i = 0; i < 600; ++i) input += (i ? ", {\"k\": " : "{\"k\": ") + std::to_string(i % 200) + "}";
  input += "]";
  const std::string pipeline =
      R"([{"$group": {"_id": "$k", "n": {"$sum": 1}}}, {"$match": {"n": 3}}, {"$count": "groups"}])";
  memoryLimit_ = 4000;
  EXPECT_EQ(run(pipeline, input).substr(0, 4), "292 ");
  spill_ = spillToDirectory(testing::TempDir());
  EXPECT_EQ(run(pipeline, input), json(R"([{"groups": 200}])"));
}

TEST_F(PipelineTest, PutsDocumentsIntoBuckets) {
  expect(R"([{"$bucket": {"groupBy": "$qty", "boundaries": [0, 4, 8], "default": "more"}}])", kSales,
         R"([{"_id": 0, "count": 2}, {"_id": 4, "count": 1}, {"_id": "more", "count": 1}])");
  expect(R"([{"$bucketAuto": {"groupBy": "$qty", "buckets": 2}}])", kSales,
         R"([{"_id": {"min": 1, "max": 5}, "count": 2}, {"_id": {"min": 5, "max": 9}, "count": 2}])");
}

TEST_F(PipelineTest, UnwindsArrays) {
  expect(R"([{"$unwind": "$tags"}, {"$project": {"tags": 1}}])", kSales,
         R"([{"_id": 1, "tags": "x"}, {"_id": 1, "tags": "y"}, {"_id": 4, "tags": "z"}])");
  expect(
      R"([{"$unwind": {"path": "$tags", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "at"}}, {"$project": {"tags": 1, "at": 1}}])",
      kSales,
      R"([{"_id": 1, "tags": "x", "at": 0}, {"_id": 1, "tags": "y", "at": 1}, {"_id": 2, "at": null}, {"_id": 3, "at": null},
             {"_id": 4, "tags": "z", "at": null}])");
}

TEST_F(PipelineTest, LooksUpInOtherCollections) {
  environment_.collections["items"] =
      documents(R"([{"_id": 1, "name": "a", "price": 2}, {"_id": 2, "name": "b", "price": 7}])");
  expect(
      R"([{"$match": {"_id": {"$lte": 3}}}, {"$lookup": {"from": "items", "localField": "item", "foreignField": "name", "as": "i"}},
             {"$project": {"p": "$i.price"}}])",
      kSales, R"([{"_id": 1, "p": [2]}, {"_id": 2, "p": [7]}, {"_id": 3, "p": [2]}])");
  expect(
      R"([{"$limit": 2}, {"$lookup": {"from": "items", "let": {"q": "$qty"}, "pipeline": [{"$match": {"$expr": {"$gt": ["$price", "$$q"]}}},
             {"$project": {"_id": 0, "name": 1}}], "as": "i"}}, {"$project": {"i": 1}}])",
      kSales, R"([{"_id": 1, "i": [{"name": "b"}]}, {"_id": 2, "i": [{"name": "a"}, {"name": "b"}]}])");
  expect(
      R"([{"$limit": 1}, {"$project": {"_id": 1}}, {"$unionWith": {"coll": "items", "pipeline": [{"$project": {"name": 1}}]}}])",
      kSales, R"([{"_id": 1}, {"_id": 1, "name": "a"}, {"_id": 2, "name": "b"}])");
  environment_.collections["staff"] =
      documents(R"([{"_id": 1, "boss": null}, {"_id": 2, "boss": 1}, {"_id": 3, "boss": 2}])");
  expect(
      R"([{"$graphLookup": {"from": "staff", "startWith": "$boss", "connectFromField": "boss", "connectToField": "_id", "as": "up", "depthField": "d"}},
             {"$project": {"up._id": 1, "up.d": 1}}])",
      R"([{"_id": 3, "boss": 2}])", R"([{"_id": 3, "up": [{"_id": 2, "d": 0}, {"_id": 1, "d": 1}]}])");
}

TEST_F(PipelineTest, RunsFacetsOverTheSameDocuments) {
  expect(
      R"([{"$facet": {"n": [{"$count": "n"}], "big": [{"$match": {"qty": {"$gt": 4}}}, {"$project": {"_id": 1}}]}}])",
      kSales, R"([{"n": [{"n": 4}], "big": [{"_id": 1}, {"_id": 4}]}])");
  EXPECT_EQ(run(R"([{"$facet": {"n": [{"$out": "x"}]}}])", "[]"),
            "40600 $out is not allowed to be used within a $facet stage");
}

TEST_F(PipelineTest, StartsFromSourcesOfItsOwn) {
  expect(R"([{"$documents": [{"a": {"$add": [1, 1]}}]}])", "[]", R"([{"a": 2}])");
  expect(R"([{"$currentOp": {}}])", "[]", R"([{"source": "$currentOp"}])");
}

TEST_F(PipelineTest, RedactsAndSamples) {
  expect(R"([{"$redact": {"$cond": [{"$eq": ["$level", 5]}, "$$PRUNE", "$$DESCEND"]}}])",
         R"([{"level": 1, "a": {"level": 5}, "b": [{"level": 5, "x": 1}, {"level": 2}]}])",
         R"([{"level": 1, "b": [{"level": 2}]}])");
  EXPECT_EQ(run(R"([{"$sample": {"size": 2}}, {"$count": "n"}])", kSales), json(R"([{"n": 2}])"));
}

TEST_F(PipelineTest, WritesWithOutAndMerge) {
  auto& target = environment_.collections["target"];
  EXPECT_EQ(run(R"([{"$project": {"qty": 1}}, {"$limit": 2}, {"$out": "target"}])", kSales), json("[]"));
  EXPECT_EQ(target, documents(R"([{"_id": 1, "qty": 5}, {"_id": 2, "qty": 1}])"));
  EXPECT_EQ(run(R"([{"$project": {"item": 1}}, {"$skip": 1}, {"$limit": 2}, {"$merge": {"into": "target"}}])", kSales),
            json("[]"));
  EXPECT_EQ(target, documents(R"([{"_id": 1, "qty": 5}, {"_id": 2, "qty": 1, "item": "b"}, {"_id": 3, "item": "a"}])"));
  EXPECT_EQ(
      run(R"([{"$merge": {"into": "target", "whenMatched": [{"$set": {"sum": {"$add": ["$qty", "$$new.qty"]}}}], "whenNotMatched": "discard"}}])",
          R"([{"_id": 1, "qty": 10}, {"_id": 77}])"),
      json("[]"));
  EXPECT_EQ(target[0], documents(R"([{"_id": 1, "qty": 5, "sum": 15}])")[0]);
  EXPECT_EQ(target.size(), 3U);
  EXPECT_EQ(run(R"([{"$merge": {"into": "target", "on": "qty"}}])", kSales),
            "51183 Cannot find index to verify that join fields will be unique");
}

TEST_F(PipelineTest, ComputesWindows) {
  expect(
      R"([{"$setWindowFields": {"partitionBy": "$item", "sortBy": {"qty": 1}, "output": {"n": {"$documentNumber": {}},
             "run": {"$sum": "$qty", "window": {"documents": ["unbounded", "current"]}}, "prev": {"$shift": {"output": "$_id", "by": -1, "default": 0}}}}},
             {"$project": {"n": 1, "run": 1, "prev": 1}}])",
      kSales,
      R"([{"_id": 3, "n": 1, "run": 3, "prev": 0}, {"_id": 1, "n": 2, "run": 8, "prev": 3}, {"_id": 2, "n": 1, "run": 1, "prev": 0},
             {"_id": 4, "n": 1, "run": 9, "prev": 0}])");
  expect(
      R"([{"$setWindowFields": {"sortBy": {"qty": 1}, "output": {"near": {"$push": "$qty", "window": {"range": [-2, 2]}},
             "sides": {"$sum": "$qty", "window": {"documents": [-1, 1]}}}}}, {"$project": {"near": 1, "sides": 1}}])",
      kSales,
      R"([{"_id": 2, "near": [1, 3], "sides": 4}, {"_id": 3, "near": [1, 3, 5], "sides": 9}, {"_id": 1, "near": [3, 5], "sides": 17},
             {"_id": 4, "near": [9], "sides": 14}])");
  expect(R"([{"$setWindowFields": {"sortBy": {"v": 1}, "output": {"r": {"$rank": {}}, "d": {"$denseRank": {}}}}}])",
         R"([{"v": 1}, {"v": 1}, {"v": 2}])",
         R"([{"v": 1, "r": 1, "d": 1}, {"v": 1, "r": 1, "d": 1}, {"v": 2, "r": 3, "d": 2}])");
}

TEST_F(PipelineTest, FillsWhatIsMissing) {
  expect(
      R"([{"$fill": {"sortBy": {"t": 1}, "output": {"a": {"method": "linear"}, "b": {"method": "locf"}, "c": {"value": 0}}}}])",
      R"([{"t": 1, "a": 10, "b": 1, "c": 5}, {"t": 3, "a": 30, "b": null, "c": null}, {"t": 2, "a": null}])",
      R"([{"t": 1, "a": 10, "b": 1, "c": 5}, {"t": 2, "a": 20.0, "b": 1, "c": 0}, {"t": 3, "a": 30, "b": 1, "c": 0}])");
}

TEST_F(PipelineTest, HandsTheFrontToTheScan) {
  const auto spec = *bson::fromJson(
      R"({"p": [{"$addFields": {"x": 1}}, {"$match": {"a": 1}}, {"$sort": {"b": 1}}, {"$match": {"c": 2}}, {"$limit": 5},
                                              {"$group": {"_id": "$a"}}]})");
  auto pipeline = Pipeline::parse(spec["p"].asArray(), context());
  ASSERT_TRUE(pipeline.isOK());
  ASSERT_TRUE((*pipeline)->optimize().isOK());
  const PushDown first = (*pipeline)->takePushDown();
  EXPECT_EQ(first.filter, *bson::fromJson(R"({"$and": [{"a": 1}, {"c": 2}]})"));
  EXPECT_TRUE(first.sort.empty());     // $addFields stays in between
  EXPECT_EQ((*pipeline)->size(), 3U);  // $addFields, $sort with its limit, $group

  const auto plain = *bson::fromJson(
      R"({"p": [{"$match": {"a": 1}}, {"$sort": {"b": 1}}, {"$skip": 2}, {"$limit": 5}, {"$project": {"a": 1}}]})");
  auto second = Pipeline::parse(plain["p"].asArray(), context());
  ASSERT_TRUE((*second)->optimize().isOK());
  const PushDown taken = (*second)->takePushDown();
  EXPECT_EQ(taken.sort, *bson::fromJson(R"({"b": 1})"));
  EXPECT_EQ(taken.skip, 2);
  EXPECT_EQ(taken.limit, 5);
  EXPECT_EQ((*second)->size(), 1U);
  EXPECT_EQ((*second)->dependencies().paths, (std::set<std::string>{"_id", "a"}));
  EXPECT_FALSE((*second)->dependencies().wholeDocument);
}

TEST_F(PipelineTest, UpdatesDocumentsByPipelines) {
  const auto spec = *bson::fromJson(
      R"({"p": [{"$set": {"total": {"$add": ["$a", "$b"]}}}, {"$unset": "b"}], "bad": [{"$match": {}}]})");
  const auto result =
      applyPipelineUpdate(spec["p"].asArray(), *bson::fromJson(R"({"_id": 1, "a": 1, "b": 2})"), parse_);
  ASSERT_TRUE(result.isOK());
  EXPECT_EQ(*result, *bson::fromJson(R"({"_id": 1, "a": 1, "total": 3})"));
  EXPECT_EQ(PipelineUpdate::parse(spec["bad"].asArray(), parse_).status(), ErrorCode::kInvalidOptions);
}

}  // namespace
}  // namespace troupe::query
