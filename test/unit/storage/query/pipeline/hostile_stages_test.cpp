// Every stage over more than it may hold and over more than it may look at: each loop over a client's data ends when
// its operation has to, and what a stage holds is charged.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

using bson::Document;

enum class Kill { kNever, kAtFirstRow, kAtLastRow };

/// A source of rows made one by one, which counts no steps; kills its operation on the way.
class ManyRows final : public Stage {
 public:
  using Make = std::function<Document(int)>;
  ManyRows(int count, Make make, TestWork& work, Kill kill, int& given)
      : count_(count), make_(std::move(make)), work_(work), kill_(kill), given_(given) {}
  StatusWith<Next> next() override {
    if (kill_ == Kill::kAtFirstRow || (kill_ == Kill::kAtLastRow && at_ >= count_ - 1)) work_.killed = true;
    if (at_ == count_) return Next::end();
    ++given_;
    current_ = make_(at_++);
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "rows"; }
  void serialize(bson::Builder&) const override {}

 private:
  const int count_;
  const Make make_;
  TestWork& work_;
  const Kill kill_;
  int& given_;
  int at_ = 0;
  Document current_;
};

/// Takes what is written to it.
class Sink final : public OutWriter {
 public:
  Status insert(bson::View) override { return Status::OK(); }
  Status finish() override { return Status::OK(); }
};

/// Other collections hold what `open` gives.
class ManyRowsElsewhere final : public PipelineEnvironment {
 public:
  explicit ManyRowsElsewhere(std::function<StagePtr()> open) : open_(std::move(open)) {}
  StatusWith<StagePtr> scan(const CollectionName&, const PushDown&) override { return open_(); }
  StatusWith<StagePtr> openSource(const CollectionName&, const bson::Element&) override { return open_(); }
  StatusWith<std::unique_ptr<OutWriter>> openOut(const CollectionName&) override {
    return std::unique_ptr<OutWriter>(std::make_unique<Sink>());
  }
  StatusWith<UniqueIndex> uniqueIndex(const CollectionName&, const std::vector<std::string>&) override {
    return UniqueIndex::kWhole;
  }
  StatusWith<bool> modifyOne(const CollectionName&, bson::View query, const Change& change) override {
    TROUPE_TRY(change(bson::doc("_id", query["_id"].asDocument()["$eq"])).status());
    return true;
  }
  Status insert(const CollectionName&, bson::View) override { return Status::OK(); }

 private:
  std::function<StagePtr()> open_;
};

struct Outcome {
  Status status;
  int read = 0;   ///< rows of the first source
  int given = 0;  ///< results
  int looks = 0;  ///< how often the operation was asked whether to go on
};

/// Text of 256 KiB, as an expression.
std::string grownFrom(const std::string& initial) {
  return R"({"$reduce": {"input": {"$range": [0, 15]}, "initialValue": )" + initial +
         R"(, "in": {"$concat": ["$$value", "$$value"]}}})";
}
/// One that is no constant, which would be made while it is parsed.
const std::string kLarge = grownFrom(R"({"$concat": ["abcdefg", {"$substrBytes": [{"$toString": "$_id"}, 0, 1]}]})");
/// Another one for each row.
const std::string kLargeKey = R"({"$concat": [)" + kLarge + R"(, {"$toString": "$_id"}]})";

class HostileStages : public ::testing::Test {
 protected:
  /// Runs the stages, as JSON, to their end or first failure.
  Outcome run(const std::string& stages, Kill kill = Kill::kNever) {
    const auto spec = bson::fromJson(R"({"p": [)" + stages + "]}");
    EXPECT_TRUE(spec.isOK()) << spec.status().toString() << " in " << stages;
    return run(spec->view()["p"].asArray(), kill);
  }
  Outcome run(bson::View stages, Kill kill) {
    TestWork work(budget);
    Outcome outcome;
    ParseContext parse;
    parse.work = &work;
    int unused = 0;
    bool isSource = false;
    ManyRowsElsewhere environment([&]() -> StagePtr {
      return std::make_unique<ManyRows>(rows, make, work, isSource ? kill : Kill::kNever,
                                        isSource ? outcome.read : unused);
    });
    PipelineContext context;
    context.parse = &parse;
    context.environment = &environment;
    context.on = {"db", "c"};
    auto pipeline = Pipeline::parse(stages, context);
    if (!pipeline.isOK()) return {pipeline.status()};
    isSource = (*pipeline)->startsWithSource();
    if (!isSource) (*pipeline)->attach(std::make_unique<ManyRows>(rows, make, work, kill, outcome.read));
    while (outcome.status.isOK()) {
      const auto next = (*pipeline)->next();
      outcome.status = next.status();
      if (next.isOK() && next->isEnd()) break;
      outcome.given += next.isOK() && next->isDocument();
    }
    outcome.looks = work.looks;
    pipeline->reset();
    EXPECT_EQ(work.budget.used(), 0) << bson::toRelaxedJson(stages);
    return outcome;
  }

  int rows = 20'000;
  int64_t budget = int64_t{64} << 20;
  ManyRows::Make make = [](int i) {
    return bson::doc("_id", i, "x", i, "next", i + 1, "g", 1, "s", "", "list", bson::array(1));
  };
  const ManyRows::Make largeRows = [](int i) {
    return bson::doc("_id", i, "x", i, "next", i + 1, "g", 1, "s", std::string(256 << 10, 's'), "list", bson::array(1));
  };
};

struct HostileStage {
  const char* stage;
  bool worksAfterItsInput;  ///< before its first result
  bool holds;               ///< what it reads, or makes of it
};

constexpr HostileStage kStages[] = {
    {R"({"$match": {"x": -1}})", false, false},
    {R"({"$project": {"x": 1}})", false, false},
    {R"({"$addFields": {"y": "$x"}})", false, false},
    {R"({"$set": {"y": "$x"}})", false, false},
    {R"({"$unset": "g"})", false, false},
    {R"({"$replaceRoot": {"newRoot": "$$ROOT"}})", false, false},
    {R"({"$replaceWith": "$$ROOT"})", false, false},
    {R"({"$redact": "$$PRUNE"})", false, false},
    {R"({"$redact": "$$DESCEND"})", false, false},
    {R"({"$limit": 1000000})", false, false},
    {R"({"$skip": 1000000})", false, false},
    {R"({"$count": "n"})", false, false},
    {R"({"$sample": {"size": 1000000}})", false, true},
    {R"({"$sort": {"x": -1}})", true, true},
    {R"({"$group": {"_id": "$x"}})", false, false},
    {R"({"$group": {"_id": null, "all": {"$push": "$s"}}})", false, true},
    {R"({"$group": {"_id": {"$concat": ["$s", {"$toString": "$_id"}]}}})", false, true},
    {R"({"$sortByCount": {"$concat": ["$s", {"$toString": "$_id"}]}})", true, true},
    {R"({"$bucket": {"groupBy": "$x", "boundaries": [0, 1000000], "output": {"all": {"$push": "$s"}}}})", false, true},
    {R"({"$bucketAuto": {"groupBy": "$x", "buckets": 2}})", true, true},
    {R"({"$bucketAuto": {"groupBy": "$g", "buckets": 20000, "output": {}}})", true, true},
    {R"({"$unwind": "$list"})", false, false},
    {R"({"$unwind": "$nothing"})", false, false},
    {R"({"$lookup": {"from": "c", "pipeline": [], "as": "all"}})", false, true},
    {R"({"$graphLookup": {"from": "c", "startWith": "$_id", "connectFromField": "next", "connectToField": "_id", "as": "all"}})",
     false, true},
    {R"({"$_internalFindAndModifyImageLookup": {}})", false, false},
    {R"({"$unionWith": "c"})", false, false},
    {R"({"$facet": {"a": [{"$match": {"x": -1}}]}})", true, true},
    {R"({"$facet": {"a": [{"$sort": {"x": 1}}, {"$limit": 1}]}})", true, true},
    {R"({"$setWindowFields": {"output": {"n": {"$sum": 1}}}})", true, true},
    {R"({"$setWindowFields": {"partitionBy": "$g", "sortBy": {"x": 1}, "output": {"n": {"$rank": {}}}}})", true, true},
    {R"({"$fill": {"sortBy": {"x": 1}, "output": {"y": {"method": "locf"}}}})", true, true},
    {R"({"$fill": {"partitionBy": "$g", "sortBy": {"x": 1}, "output": {"y": {"method": "linear"}}}})", true, true},
    {R"({"$rankFusion": {"input": {"pipelines": {"a": [{"$sort": {"x": 1}}]}}}})", true, true},
    {R"({"$out": "o"})", false, false},
    {R"({"$merge": "o"})", false, false},
};

/// Stages that this test cannot attack: they make their documents while they are parsed, are answered by the
/// environment, or are refused.
constexpr std::string_view kElsewhere[] = {
    "$documents",    "$collStats",          "$indexStats",    "$planCacheStats", "$currentOp",         "$listCatalog",
    "$listSessions", "$listClusterCatalog", "$querySettings", "$actors",         "$listLocalSessions", "$changeStream",
    "$geoNear",      "$listSearchIndexes",
};

TEST_F(HostileStages, AreAllOfTheTable) {
  std::set<std::string> attacked(std::begin(kElsewhere), std::end(kElsewhere));
  for (const HostileStage& row : kStages) attacked.emplace(bson::fromJson(row.stage)->view().first().name());
  for (const auto family :
       {transformStages(), limitingStages(), groupStages(), bucketStages(), bucketAutoStages(), unwindStages(),
        lookupStages(), graphLookupStages(), sourceStages(), facetStages(), outputStages(), mergeStages(),
        windowStages(), fillStages(), rankFusionStages(), imageLookupStages()})
    for (const StageRow& row : family) EXPECT_TRUE(attacked.contains(std::string(row.name))) << row.name;
}

TEST_F(HostileStages, EndWhileTheyReadWhenTheirOperationIsKilled) {
  for (const HostileStage& row : kStages) {
    const Outcome outcome = run(row.stage, Kill::kAtFirstRow);
    EXPECT_EQ(outcome.status.code(), ErrorCode::kInterrupted) << row.stage;
    EXPECT_LT(outcome.read, rows) << row.stage;
  }
}

TEST_F(HostileStages, EndAfterTheyHaveReadWhenTheirOperationIsKilled) {
  for (const HostileStage& row : kStages) {
    if (!row.worksAfterItsInput) continue;
    const Outcome outcome = run(row.stage, Kill::kAtLastRow);
    EXPECT_EQ(outcome.status.code(), ErrorCode::kInterrupted) << row.stage;
    EXPECT_EQ(outcome.read, rows) << row.stage;
    EXPECT_EQ(outcome.given, 0) << row.stage;
  }
}

TEST_F(HostileStages, FailWhenTheyWouldHoldMoreThanTheBudget) {
  rows = 64;
  make = largeRows;
  budget = 4 << 20;
  for (const HostileStage& row : kStages) {
    const Outcome outcome = run(row.stage);
    EXPECT_EQ(outcome.status.code(), row.holds ? ErrorCode::kExceededMemoryLimit : ErrorCode::kOK) << row.stage;
  }
}

TEST_F(HostileStages, PayForSmallDocumentsWhatTheyTake) {
  rows = 40'000;
  make = [](int) { return Document(); };
  budget = 1 << 20;
  for (const char* stage : {R"({"$sample": {"size": 1000000}})", R"({"$facet": {"a": [{"$limit": 1}]}})",
                            R"({"$bucketAuto": {"groupBy": "$x", "buckets": 2}})",
                            R"({"$setWindowFields": {"output": {"n": {"$sum": 1}}}})"})
    EXPECT_EQ(run(stage).status.code(), ErrorCode::kExceededMemoryLimit) << stage;
}

TEST_F(HostileStages, PayForTheValuesTheyCompute) {
  rows = 64;
  budget = 6 << 20;
  const std::string many = [] {
    std::string variables;
    for (int i = 0; i < 64; ++i)
      variables += (i ? ", " : "") + std::string("\"v") + std::to_string(i) + "\": " + kLarge;
    return "{" + variables + "}";
  }();
  for (const std::string& stage : {
           R"({"$bucketAuto": {"groupBy": )" + kLargeKey + R"(, "buckets": 2}})",
           R"({"$setWindowFields": {"partitionBy": )" + kLargeKey + R"(, "output": {"n": {"$sum": 1}}}})",
           R"({"$setWindowFields": {"sortBy": {"x": 1}, "output": {"n": {"$locf": )" + kLargeKey + "}}}}",
           R"({"$setWindowFields": {"sortBy": {"x": 1}, "output": {"n": {"$shift": {"output": )" + kLargeKey +
               R"(, "by": 1}}}}})",
           R"({"$setWindowFields": {"sortBy": {"x": 1}, "output": {"n": {"$last": )" + kLargeKey + "}}}}",
           R"({"$fill": {"partitionBy": )" + kLargeKey +
               R"(, "sortBy": {"x": 1}, "output": {"y": {"method": "locf"}}}})",
           R"({"$fill": {"output": {"y": {"value": )" + kLargeKey + "}}}}",
           R"({"$group": {"_id": )" + kLargeKey + "}}",
           R"({"$sortByCount": )" + kLargeKey + "}",
           R"({"$lookup": {"from": "c", "let": )" + many + R"(, "pipeline": [{"$limit": 1}], "as": "y"}})",
           R"({"$merge": {"into": "o", "let": )" + many + R"(, "whenMatched": [{"$set": {"y": 1}}]}})",
           R"({"$facet": {"a": [{"$project": {"y": )" + kLargeKey + "}}]}}",
       })
    EXPECT_EQ(run(stage).status.code(), ErrorCode::kExceededMemoryLimit) << stage.substr(0, 80);
}

TEST_F(HostileStages, HoldNoMoreThanTheBudgetForOneRowOfManyOutputs) {
  rows = 1;
  budget = 6 << 20;
  const auto outputs = [](const std::string& function) {
    std::string all;
    for (int i = 0; i < 400; ++i) all += (i ? ", " : "") + std::string("\"o") + std::to_string(i) + "\": " + function;
    return all;
  };
  const std::string pushes = outputs(R"({"$push": )" + kLarge + "}");
  for (const std::string& stage : {R"({"$group": {"_id": null, )" + pushes + "}}",
                                   R"({"$bucketAuto": {"groupBy": "$x", "buckets": 1, "output": {)" + pushes + "}}}",
                                   R"({"$setWindowFields": {"output": {)" + pushes + "}}}"}) {
    PeakMemory peak;
    peak.restart();
    EXPECT_EQ(run(stage).status.code(), ErrorCode::kExceededMemoryLimit) << stage.substr(0, 40);
    EXPECT_LT(peak.grown(), 60 << 20) << stage.substr(0, 40);
  }
}

TEST_F(HostileStages, ChargeTheVariablesOfALookupWhileItSearches) {
  rows = 1;
  budget = 5 << 20;
  const std::string let = R"("let": {"a": )" + kLarge + R"(, "b": )" + kLarge + "}";
  std::string nested = R"({"$limit": 1})";
  const auto outcomeOfNested = [&](int levels) {
    std::string stage = nested;
    for (int i = 0; i < levels; ++i)
      stage = R"({"$lookup": {"from": "c", )" + let + R"(, "pipeline": [)" + stage + R"(], "as": "y"}})";
    return run(stage).status.code();
  };
  EXPECT_EQ(outcomeOfNested(2), ErrorCode::kOK);
  EXPECT_EQ(outcomeOfNested(12), ErrorCode::kExceededMemoryLimit);
}

TEST_F(HostileStages, CountTheBytesOfTheKeysTheyCompare) {
  rows = 100;
  make = [](int i) {
    return bson::doc("_id", i, "x", i, "s", std::string(128 << 10, 's') + std::to_string((i * 7) % 100));
  };
  for (const char* stage :
       {R"({"$sort": {"s": 1}})", R"({"$bucketAuto": {"groupBy": "$s", "buckets": 2}})",
        R"({"$setWindowFields": {"partitionBy": "$s", "output": {"n": {"$sum": 1}}}})",
        R"({"$setWindowFields": {"sortBy": {"s": 1}, "output": {"n": {"$sum": 1}}}})",
        R"({"$fill": {"partitionBy": "$s", "sortBy": {"x": 1}, "output": {"y": {"method": "locf"}}}})"}) {
    const Outcome outcome = run(stage, Kill::kAtLastRow);
    EXPECT_EQ(outcome.status.code(), ErrorCode::kInterrupted) << stage;
    EXPECT_EQ(outcome.given, 0) << stage;
  }
}

TEST_F(HostileStages, LookAtTheirOperationInEachLoop) {
  // Each of these adds a loop over all rows to what it stands in.
  const auto window = [](const std::string& function, int count) {
    std::string outputs;
    for (int i = 0; i < count; ++i)
      outputs += (i ? ", " : "") + std::string("\"o") + std::to_string(i) + "\": " + function;
    return R"({"$setWindowFields": {"sortBy": {"x": 1}, "output": {)" + outputs + "}}}";
  };
  const auto fill = [](const std::string& method, int count) {
    std::string outputs;
    for (int i = 0; i < count; ++i)
      outputs += (i ? ", " : "") + std::string("\"g.") + std::to_string(i) + "\": " + method;
    return R"({"$fill": {"sortBy": {"x": 1}, "output": {)" + outputs + "}}}";
  };
  make = [](int i) { return bson::doc("_id", i, "x", i, "g", bson::doc("0", 1, "1", 1, "2", 1)); };
  const int looksOfALoop = rows / 4096;
  for (const char* function :
       {R"({"$rank": {}})", R"({"$denseRank": {}})", R"({"$documentNumber": {}})", R"({"$locf": "$x"})",
        R"({"$shift": {"output": "$x", "by": 1}})", R"({"$sum": 1, "window": {"documents": [-1, 0]}})",
        R"({"$sum": 1, "window": {"range": [-1, 0]}})",
        R"({"$min": "$x", "window": {"documents": [5000000, 5000001]}})"})
    EXPECT_GE(run(window(function, 3)).looks - run(window(function, 1)).looks, 4 * looksOfALoop)
        << function << ": a loop for the values, and one that adds them";
  for (const char* method : {R"({"method": "locf"})", R"({"method": "linear"})", R"({"value": 1})"})
    EXPECT_GE(run(fill(method, 3)).looks - run(fill(method, 1)).looks, 2 * looksOfALoop) << method;
  const auto bucketAuto = [](const char* buckets) {
    return std::string(R"({"$bucketAuto": {"groupBy": "$none", "output": {}, "buckets": )") + buckets + "}}";
  };
  EXPECT_GE(run(bucketAuto("20000")).looks - run(bucketAuto("1")).looks, looksOfALoop) << "equal keys stay together";
}

TEST_F(HostileStages, UnwindPaysForTheDocumentItCopiesEachTime) {
  rows = 1;
  bson::Builder b;
  b.append("s", std::string(1 << 20, 's')).openArray("list");
  for (int i = 0; i < 1000; ++i) b.push(i);
  const Document row = b.close().finish();
  make = [&](int) { return row; };
  EXPECT_GE(run(R"({"$unwind": "$list"})").looks, 100);
  const Outcome killed = run(R"({"$unwind": "$list"})", Kill::kAtLastRow);
  EXPECT_EQ(killed.status.code(), ErrorCode::kInterrupted);
  EXPECT_LT(killed.given, 100);
}

TEST_F(HostileStages, GroupsWhoseHashesAreAlikeCount) {
  std::vector<int> alike;
  for (int i = 0; alike.size() < 2000; ++i)
    if ((bson::hashValue(bson::Value(i).element()) & 0xfff) == 0) alike.push_back(i);
  rows = static_cast<int>(alike.size());
  make = [&](int i) { return bson::doc("x", alike[static_cast<size_t>(i)]); };
  EXPECT_GT(run(R"({"$group": {"_id": "$x"}})").looks, 400);
  make = [](int i) { return bson::doc("x", i); };
  EXPECT_LT(run(R"({"$group": {"_id": "$x"}})").looks, 10);
}

TEST_F(HostileStages, DocumentsAreChargedAsLongAsTheyAreHeld) {
  rows = 0;
  budget = 12 << 20;
  const std::string eight =
      R"({"$documents": {"$map": {"input": {"$range": [0, 8]}, "in": {"s": )" + grownFrom("\"abcdefgh\"") + "}}}}";
  EXPECT_EQ(run(eight).status.code(), ErrorCode::kOK);
  std::string all = eight;
  for (int i = 0; i < 8; ++i) all += R"(, {"$unionWith": {"pipeline": [)" + eight + "]}}";
  EXPECT_EQ(run(all).status.code(), ErrorCode::kExceededMemoryLimit);
}

TEST_F(HostileStages, RankFusionHasSoManyPipelinesOfDifferentNames) {
  rows = 1;
  const auto fusion = [](int pipelines, const std::string& lastName) {
    bson::Builder b;
    b.pushDocument().openDocument("$rankFusion").openDocument("input").openDocument("pipelines");
    const auto add = [&](const std::string& name) {
      b.openArray(name).pushDocument().append("$sort", bson::doc("x", 1)).close().close();
    };
    for (int i = 1; i < pipelines; ++i) add("p" + std::to_string(i));
    add(lastName);
    b.close().close().openDocument("combination").openDocument("weights");
    for (int i = 1; i < pipelines; ++i) b.append("p" + std::to_string(i), 2);
    b.close().close().close().close();
    return b.finishArray();
  };
  const auto statusOf = [&](const bson::Value& stages) { return run(stages.element().asArray(), Kill::kNever).status; };
  EXPECT_TRUE(statusOf(fusion(1000, "last")).isOK());
  const Status tooMany = statusOf(fusion(1001, "last"));
  EXPECT_EQ(tooMany.code(), ErrorCode::kBadValue);
  EXPECT_NE(tooMany.reason().find("at most 1000 pipelines"), std::string::npos) << tooMany.reason();
  const Status twice = statusOf(fusion(1000, "p1"));
  EXPECT_EQ(twice.code(), ErrorCode::kBadValue);
  EXPECT_NE(twice.reason().find("two pipelines of the name 'p1'"), std::string::npos) << twice.reason();
}

}  // namespace
}  // namespace troupe::query
