// Accumulators, sorts and stages whose comparisons or states are larger than their number tells.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "storage/query/update/update.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

class HostileStates : public ::testing::Test {
 protected:
  HostileStates() { context.work = &work; }

  std::unique_ptr<Accumulator> state(const std::string& json) {
    const auto holder = *bson::fromJson("{\"out\": " + json + "}");
    auto parsed = parseAccumulator(holder.view().first(), context);
    EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
    specs.push_back(std::move(*parsed));
    return specs.back()->make();
  }
  /// Adds what the document contributes.
  void add(Accumulator& state, const bson::Document& document) {
    Variables variables(nullptr, document);
    const auto value = specs.back()->evaluate(variables);
    ASSERT_TRUE(value.isOK());
    ASSERT_TRUE(state.add(value->element()).isOK());
  }
  static std::string shown(const Accumulator& state) { return bson::toRelaxedJson(state.result()->element()); }

  TestWork work;
  ParseContext context;
  std::vector<std::unique_ptr<AccumulatorSpec>> specs;
};

TEST_F(HostileStates, GiveBackWhatTheyLetGo) {
  const std::pair<const char*, const char*> runs[] = {
      {R"({"$topN": {"n": 3, "sortBy": {"x": 1}, "output": "$x"}})", "[ 1, 2, 3 ]"},
      {R"({"$topN": {"n": 3, "sortBy": {"x": -1}, "output": "$x"}})", "[ 2000, 1999, 1998 ]"},
      {R"({"$bottomN": {"n": 3, "sortBy": {"x": 1}, "output": "$x"}})", "[ 1998, 1999, 2000 ]"},
      {R"({"$bottom": {"sortBy": {"x": -1}, "output": "$x"}})", "1"},
      {R"({"$firstN": {"n": 3, "input": "$x"}})", "[ 1, 2000, 2 ]"},
      {R"({"$lastN": {"n": 3, "input": "$x"}})", "[ 1002, 1000, 1001 ]"},
      {R"({"$minN": {"n": 3, "input": "$x"}})", "[ 1, 2, 3 ]"},
      {R"({"$maxN": {"n": 3, "input": "$x"}})", "[ 2000, 1999, 1998 ]"},
  };
  for (const auto& [spec, result] : runs) {
    const auto kept = state(spec);
    for (int i = 1; i <= 1000; ++i) {  // from both ends to the middle
      add(*kept, bson::doc("x", i));
      add(*kept, bson::doc("x", 2001 - i));
    }
    EXPECT_LT(kept->memory(), 1000U) << spec;
    EXPECT_GT(kept->memory(), 0U) << spec;
    EXPECT_EQ(shown(*kept), result) << spec;
  }
}

TEST_F(HostileStates, KeepTheOrderOfEqualKeys) {
  const auto top = state(R"({"$topN": {"n": 3, "sortBy": {"x": 1}, "output": "$y"}})");
  for (int i = 0; i < 5; ++i) add(*top, bson::doc("x", 1, "y", i));
  EXPECT_EQ(shown(*top), "[ 0, 1, 2 ]");
  const auto bottom = state(R"({"$bottomN": {"n": 3, "sortBy": {"x": 1}, "output": "$y"}})");
  for (int i = 0; i < 5; ++i) add(*bottom, bson::doc("x", 1, "y", i));
  EXPECT_EQ(shown(*bottom), "[ 2, 3, 4 ]");
}

TEST_F(HostileStates, SortByThirtyTwoFieldsAtMost) {
  for (const int fields : {32, 33}) {
    bson::Builder b;
    for (int i = 0; i < fields; ++i) b.append("f" + std::to_string(i), 1);
    const auto order = b.finish();
    const ErrorCode wanted = fields == 32 ? ErrorCode::kOK : ErrorCode(13103);
    const auto sorted = bson::doc("v", bson::doc("$sortArray", bson::doc("input", "$list", "sortBy", order)));
    Variables variables(&work);
    const auto expression = parseExpression(sorted.view()["v"], context);
    EXPECT_EQ((*expression)->evaluate(bson::doc("list", bson::array()), variables).status().code(), wanted);
    const auto push =
        bson::doc("u", bson::doc("$push", bson::doc("list", bson::doc("$each", bson::array(), "$sort", order))));
    EXPECT_EQ(parseUpdate(push["u"], {}, context).status().code(), wanted);
  }
}

TEST_F(HostileStates, ComparisonsOfLargeValuesCount) {
  const std::string large(3'000'000, 'a');
  const auto list = bson::doc("list", bson::array(large + "1", large + "2", large + "3", large + "4"));
  const bson::View array = list["list"].asArray();
  std::vector<bson::Element> items(array.begin(), array.end());
  work.killed = true;
  const auto less = [](const bson::Element& a, const bson::Element& b) { return bson::compareValues(a, b) < 0; };
  EXPECT_EQ(sortStably(items, &work, less).code(), ErrorCode::kInterrupted);

  work.killed = false;
  for (const auto& operators :
       {bson::doc("$addToSet", bson::doc("list", large + "5")),
        bson::doc("$push", bson::doc("list", bson::doc("$each", bson::array(large), "$sort", 1)))}) {
    const auto update = bson::doc("u", operators);
    const auto parsed = parseUpdate(update["u"], {}, context);
    ASSERT_TRUE(parsed.isOK()) << parsed.status().toString();
    work.killed = true;
    EXPECT_EQ((*parsed)->apply({.document = list}).status().code(), ErrorCode::kInterrupted);
    work.killed = false;
  }
}

/// A source of one row.
class OneRow final : public Stage {
 public:
  explicit OneRow(bson::Document row) : row_(std::move(row)) {}
  StatusWith<Next> next() override { return std::exchange(done_, true) ? Next::end() : Next::of(row_.view()); }
  std::string_view name() const override { return "row"; }
  void serialize(bson::Builder&) const override {}

 private:
  bson::Document row_;
  bool done_ = false;
};

/// Other collections are empty.
class EmptyEnvironment final : public PipelineEnvironment {
 public:
  StatusWith<StagePtr> scan(const CollectionName&, const PushDown&) override {
    auto empty = std::make_unique<OneRow>(bson::Document());
    (void)empty->next();
    return StagePtr(std::move(empty));
  }
  StatusWith<StagePtr> openSource(const CollectionName&, const bson::Element&) override { return kUnused; }
  StatusWith<std::unique_ptr<OutWriter>> openOut(const CollectionName&) override { return kUnused; }
  StatusWith<UniqueIndex> uniqueIndex(const CollectionName&, const std::vector<std::string>&) override {
    return kUnused;
  }
  StatusWith<bool> modifyOne(const CollectionName&, bson::View, const Change&) override { return kUnused; }
  Status insert(const CollectionName&, bson::View) override { return kUnused; }

 private:
  const Status kUnused{ErrorCode::kInternalError, "no test asks for it"};
};

TEST_F(HostileStates, GraphLookupPaysForEachValueItReaches) {
  bson::Builder b;
  b.openArray("links");
  for (int i = 0; i < 200'000; ++i) b.push(i);
  const auto row = b.close().finish();
  const auto spec = *bson::fromJson(
      R"({"p": [{"$graphLookup": {"from": "c", "startWith": "$links", "connectFromField": "x", "connectToField": "y",
                                  "as": "z"}}]})");
  EmptyEnvironment environment;
  PipelineContext pipelineContext;
  pipelineContext.parse = &context;
  pipelineContext.environment = &environment;
  pipelineContext.on = {"db", "c"};
  pipelineContext.memoryLimit = int64_t{100} << 20;
  const auto outcome = [&] {
    auto pipeline = Pipeline::parse(spec["p"].asArray(), pipelineContext);
    EXPECT_TRUE(pipeline.isOK());
    (*pipeline)->attach(std::make_unique<OneRow>(row));
    return (*pipeline)->next().status().code();
  };
  EXPECT_EQ(outcome(), ErrorCode::kExceededMemoryLimit);
  work.killAtLook = work.looks + 2;
  EXPECT_EQ(outcome(), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace troupe::query
