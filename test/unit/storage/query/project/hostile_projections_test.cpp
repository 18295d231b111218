// Projections that would take the stack, all memory or all time: refused, or ended by the budget and the interrupt of
// their operation.
#include <gtest/gtest.h>

#include <string>

#include "messaging/bson/json.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/project/projection.hpp"
#include "storage/query/project/projection_tree.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

using bson::Document;
using bson::Value;
using bson::View;
using bson::operator""_json;

constexpr int kMany = 200'000;

std::string pathOf(int components) {
  std::string path = "a";
  for (int i = 1; i < components; ++i) path += ".a";
  return path;
}
StatusWith<Value> one(View) { return Value(1); }

Document manyFields() {
  bson::Builder out;
  for (int i = 0; i < kMany; ++i) out.append("f" + std::to_string(i), 1);
  return out.finish();
}

class HostileProjections : public ::testing::Test {
 protected:
  HostileProjections() { context.work = &work; }
  TestWork work{int64_t{1} << 30};
  ParseContext context;
};

TEST_F(HostileProjections, PathsHaveNoMoreComponentsThanDocumentsNest) {
  ProjectionTree tree(ProjectionTree::Mode::kAdd, &work);
  EXPECT_TRUE(tree.compute(pathOf(bson::kMaxNestingDepth), one).isOK());
  EXPECT_EQ(tree.compute(pathOf(200'000), one), ErrorCode::kOverflow);
  EXPECT_EQ(tree.mark(pathOf(bson::kMaxNestingDepth + 1)), ErrorCode::kOverflow);
}

TEST_F(HostileProjections, ManyFieldsTakeLittleMoreThanTheirBytes) {
  const Document before = manyFields();
  for (const auto mode : {ProjectionTree::Mode::kInclude, ProjectionTree::Mode::kExclude}) {
    ProjectionTree tree(mode, &work);
    for (int i = 0; i < kMany; i += 2) ASSERT_TRUE(tree.mark("f" + std::to_string(i)).isOK());
    const auto after = tree.apply(before);
    ASSERT_TRUE(after.isOK());
    EXPECT_EQ(after->view().count(), kMany / 2);
  }
  ProjectionTree tree(ProjectionTree::Mode::kAdd, &work);
  for (int i = 0; i < 2 * kMany; i += 2) ASSERT_TRUE(tree.compute("f" + std::to_string(i), one).isOK());
  EXPECT_EQ(tree.apply(before)->view().count(), kMany * 3 / 2);
}

TEST_F(HostileProjections, EndWithTheirOperation) {
  ProjectionTree tree(ProjectionTree::Mode::kAdd, &work);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(tree.compute("f" + std::to_string(i), one).isOK());
  work.killed = true;
  EXPECT_EQ(tree.apply(Document()).status(), ErrorCode::kInterrupted);
  ProjectionTree other(ProjectionTree::Mode::kInclude, &work);
  EXPECT_EQ(other.mark("a"), ErrorCode::kInterrupted);
}

TEST_F(HostileProjections, AreHeldByTheBudget) {
  TestWork small(int64_t{1} << 20);
  ProjectionTree tree(ProjectionTree::Mode::kInclude, &small);
  Status status;
  for (int i = 0; i < kMany && status.isOK(); ++i) status = tree.mark("f" + std::to_string(i));
  EXPECT_EQ(status, ErrorCode::kExceededMemoryLimit);
}

TEST_F(HostileProjections, ElementsAreLookedForAsLongAsTheOperationGoesOn) {
  bson::Builder b;
  b.openArray("a");
  for (int i = 0; i < 10'000; ++i) b.push(1);
  const Document document = b.close().finish();
  const auto filter = parseMatch(R"({"a": {"$gt": 1}})"_json, context);
  const auto resultOf = [&](const Document& spec) {
    const auto projection = parseProjection(spec, filter->get(), context);
    EXPECT_TRUE(projection.isOK()) << projection.status().toString();
    work.killed = true;
    ProjectionInput input;
    input.document = document;
    const Status status = (*projection)->apply(input).status();
    work.killed = false;
    return status;
  };
  EXPECT_EQ(resultOf(R"({"a": {"$elemMatch": {"$gt": 1}}})"_json), ErrorCode::kInterrupted);
  EXPECT_EQ(resultOf(R"({"a.$": 1})"_json), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace troupe::query
