#include "storage/query/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

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

/// The only source stage of its own; no other collections.
class FakeEnvironment final : public PipelineEnvironment {
 public:
  StatusWith<StagePtr> scan(const CollectionName&, const PushDown&) override { return kUnused; }
  StatusWith<StagePtr> openSource(const CollectionName&, const bson::Element& spec) override {
    return StagePtr(std::make_unique<Rows>(std::vector<Document>{bson::doc("source", spec.name())}));
  }
  StatusWith<std::unique_ptr<OutWriter>> openOut(const CollectionName&) override { return kUnused; }
  StatusWith<UniqueIndex> uniqueIndex(const CollectionName&, const std::vector<std::string>&) override {
    return kUnused;
  }
  StatusWith<bool> modifyOne(const CollectionName&, bson::View, const Change&) override { return kUnused; }
  Status insert(const CollectionName&, bson::View) override { return kUnused; }

 private:
  const Status kUnused{ErrorCode::kInternalError, "no test asks for it"};
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

TEST_F(PipelineTest, StartsFromSourcesOfItsOwn) {
  expect(R"([{"$documents": [{"a": {"$add": [1, 1]}}]}])", "[]", R"([{"a": 2}])");
  expect(R"([{"$indexStats": {}}])", "[]", R"([{"source": "$indexStats"}])");
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
