// Expressions over documents of very many fields, and with very many operands: walking them is work of the operation.
#include <gtest/gtest.h>

#include <string>

#include "messaging/bson/json.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/parse_context.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

bson::Document wideDocument(int fields, const std::string& prefix = "f") {
  bson::Builder b;
  for (int i = 0; i < fields; ++i) b.append(prefix + std::to_string(i), i);
  return b.finish();
}

class WideDocuments : public ::testing::Test {
 protected:
  WideDocuments() { context.work = &work; }

  ExpressionPtr parsed(const std::string& json) {
    const auto spec = bson::fromJson("{\"v\": " + json + "}");
    auto expression = parseExpression(spec->view()["v"], context);
    EXPECT_TRUE(expression.isOK()) << expression.status().toString();
    return std::move(*expression);
  }
  /// Of an operation that was killed, which has to show within some evaluations.
  ErrorCode outcome(const std::string& json, bson::View document) {
    work.killed = false;
    const ExpressionPtr expression = parsed(json);
    Variables variables(&work);
    work.killed = true;
    Status status;
    for (int i = 0; i < 10 && status.isOK(); ++i) status = expression->evaluate(document, variables).status();
    return status.code();
  }

  TestWork work;
  ParseContext context;
};

TEST_F(WideDocuments, FindingAFieldCounts) {
  const auto document = wideDocument(200'000);
  const auto nested = bson::doc("d", document);
  EXPECT_EQ(outcome("\"$missing\"", document), ErrorCode::kInterrupted);
  EXPECT_EQ(outcome("\"$d.missing\"", nested), ErrorCode::kInterrupted);
  EXPECT_EQ(outcome("\"$$ROOT.missing\"", document), ErrorCode::kInterrupted);
  EXPECT_EQ(outcome(R"({"$let": {"vars": {"x": "$$ROOT"}, "in": "$$x.missing"}})", document), ErrorCode::kInterrupted);
}

TEST_F(WideDocuments, CopiesOfWhatWasFoundAreCharged) {
  bson::Builder b;
  b.openArray("list");
  for (int i = 0; i < 20'000; ++i) b.push(bson::doc("x", i));
  const auto document = b.close().finish();
  for (const char* path : {"\"$list.x\"", "\"$$ROOT\"", "\"$$ROOT.list.x\""}) {
    const ExpressionPtr expression = parsed(path);
    Variables variables(&work, document);
    const auto value = expression->evaluate(variables);
    ASSERT_TRUE(value.isOK());
    EXPECT_GT(work.budget.used(), 100'000) << path;
  }
  EXPECT_EQ(work.budget.used(), 0);
}

TEST_F(WideDocuments, OperandsCount) {
  std::string paths = "\"$x\"", literals = "\"$x\"";
  for (int i = 0; i < 3000; ++i) paths += ", \"$x\"";
  for (int i = 0; i < 3000; ++i) literals += ", false";
  EXPECT_EQ(outcome(R"({"$or": [)" + literals + "]}", {}), ErrorCode::kInterrupted);
  EXPECT_EQ(outcome(R"({"$ifNull": [)" + paths + "]}", {}), ErrorCode::kInterrupted);
  EXPECT_EQ(outcome("[" + literals + "]", {}), ErrorCode::kInterrupted);
  work.killed = true;
  Growth growth(&work);
  Status status;
  for (int i = 0; i < 5000 && status.isOK(); ++i) status = growth.reserve(10);
  EXPECT_EQ(status.code(), ErrorCode::kInterrupted);
}

TEST_F(WideDocuments, ParsingCounts) {
  const auto let = wideDocument(200'000, "v");
  context.let = let;
  work.killed = true;
  const auto spec = *bson::fromJson(R"({"v": ["$$v1", "$$v2", "$$v3", "$$v4", "$$v5"]})");
  EXPECT_EQ(parseExpression(spec.view()["v"], context).status().code(), ErrorCode::kInterrupted);
  context.let = {};
  bson::Builder b;
  b.openArray("v");
  for (int i = 0; i < 5000; ++i) b.push(i);
  const auto list = b.close().finish();
  EXPECT_EQ(parseExpression(list.view()["v"], context).status().code(), ErrorCode::kInterrupted);
}

TEST_F(WideDocuments, AVariableIsThatOfTheInnermostScope) {
  Variables variables(&work);
  const ExpressionPtr expression = parsed(
      R"({"$let": {"vars": {"x": "$a", "y": "$b"}, "in": [{"$let": {"vars": {"x": "$b"}, "in": "$$x"}}, "$$x", "$$y"]}})");
  const auto value = expression->evaluate(bson::doc("a", 1, "b", 2), variables);
  EXPECT_EQ(bson::toRelaxedJson(value->element()), "[ 2, 1, 2 ]");
  const auto outside = *bson::fromJson(R"({"v": [{"$let": {"vars": {"x": 1}, "in": "$$x"}}, "$$x"]})");
  EXPECT_EQ(parseExpression(outside.view()["v"], context).status().code(), ErrorCode::kUndefinedVariable);
}

class MergedObjects : public WideDocuments {
 protected:
  std::unique_ptr<Accumulator> state() {
    spec = std::move(*parseAccumulator(bson::doc("m", bson::doc("$mergeObjects", "$d")).view().first(), context));
    return spec->make();
  }
  static Status add(Accumulator& state, const bson::Document& document) {
    const bson::Value value(document);
    return state.add(value.element());
  }
  std::unique_ptr<AccumulatorSpec> spec;
};

TEST_F(MergedObjects, EndWithTheirOperationAndAtItsBudget) {
  const auto wide = wideDocument(200'000);
  const auto first = state();
  PeakMemory peak;
  peak.restart();
  EXPECT_EQ(add(*first, wide).code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_LT(peak.grown(), kBudget);
  work.killed = true;
  EXPECT_EQ(add(*first, wide).code(), ErrorCode::kInterrupted);
}

TEST_F(MergedObjects, KeepTheFirstPlaceAndTheLastValue) {
  const auto merged = state();
  EXPECT_TRUE(add(*merged, bson::doc("a", 1, "b", 2)).isOK());
  EXPECT_TRUE(add(*merged, bson::doc("c", 3, "a", "long text")).isOK());
  EXPECT_TRUE(add(*merged, bson::doc("a", 4)).isOK());
  EXPECT_EQ(bson::toRelaxedJson(merged->result()->element()), R"({ "a" : 4, "b" : 2, "c" : 3 })");
  const size_t before = merged->memory();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(add(*merged, bson::doc("a", i)).isOK());
  EXPECT_EQ(merged->memory(), before);
}

}  // namespace
}  // namespace troupe::query
