#include "storage/query/project/projection.hpp"

#include <gtest/gtest.h>

#include "storage/query/match/match_parser.hpp"
#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

struct ProjectionCase {
  const char* projection;
  const char* document;
  const char* shown;
  const char* filter = "{}";
};
void PrintTo(const ProjectionCase& c, std::ostream* out) { *out << c.projection << " of " << c.document; }
class Projecting : public testing::TestWithParam<ProjectionCase> {};

TEST_P(Projecting, Shows) {
  const auto filter = parseMatch(filterJson(GetParam().filter), {});
  const auto projection = parseProjection(filterJson(GetParam().projection), filter->get(), {});
  ASSERT_TRUE(projection.isOK()) << projection.status().toString();
  const auto document = filterJson(GetParam().document);
  const auto result = (*projection)->apply({.document = document});
  ASSERT_TRUE(result.isOK()) << result.status().toString();
  EXPECT_EQ(bson::toRelaxedJson(filterJson(GetParam().shown)), bson::toRelaxedJson(*result));
}

INSTANTIATE_TEST_SUITE_P(
    Inclusion, Projecting,
    testing::Values(
        ProjectionCase{R"({})", R"({"_id": 1, "a": 1})", R"({"_id": 1, "a": 1})"},
        ProjectionCase{R"({"a": 1})", R"({"_id": 1, "a": 1, "b": 2})", R"({"_id": 1, "a": 1})"},
        ProjectionCase{R"({"b": 1, "a": true})", R"({"a": 1, "b": 2, "_id": 1})", R"({"a": 1, "b": 2, "_id": 1})"},
        ProjectionCase{R"({"a": 1, "_id": 0})", R"({"_id": 1, "a": 1, "b": 2})", R"({"a": 1})"},
        ProjectionCase{R"({"_id": 1})", R"({"_id": 1, "a": 1})", R"({"_id": 1})"},
        ProjectionCase{R"({"a.b": 1})", R"({"_id": 1, "a": {"b": 1, "c": 2}})", R"({"_id": 1, "a": {"b": 1}})"},
        ProjectionCase{R"({"a": {"b": 1}})", R"({"_id": 1, "a": {"b": 1, "c": 2}})", R"({"_id": 1, "a": {"b": 1}})"},
        ProjectionCase{R"({"a.b": 1})", R"({"a": [{"b": 1, "c": 2}, 5, {"c": 1}, [{"b": 2}]]})",
                       R"({"a": [{"b": 1}, {}, [{"b": 2}]]})"},
        ProjectionCase{R"({"a.b": 1})", R"({"a": 5})", R"({})"},
        ProjectionCase{R"({"a.b": 1, "a.c": 1})", R"({"a": {"c": 1, "d": 2, "b": 3}})", R"({"a": {"c": 1, "b": 3}})"},
        ProjectionCase{R"({"a": 1, "b": {"$add": ["$a", 1]}, "c": "x"})", R"({"b": 9, "a": 1})",
                       R"({"a": 1, "b": 2, "c": "x"})"}));

INSTANTIATE_TEST_SUITE_P(
    Exclusion, Projecting,
    testing::Values(ProjectionCase{R"({"a": 0})", R"({"_id": 1, "a": 1, "b": 2})", R"({"_id": 1, "b": 2})"},
                    ProjectionCase{R"({"_id": 0})", R"({"_id": 1, "a": 1})", R"({"a": 1})"},
                    ProjectionCase{R"({"a.b": 0})", R"({"a": [{"b": 1, "c": 2}, 5], "z": 1})",
                                   R"({"a": [{"c": 2}, 5], "z": 1})"},
                    ProjectionCase{R"({"a": 0, "_id": 1})", R"({"_id": 1, "a": 1, "b": 2})", R"({"_id": 1, "b": 2})"}));

INSTANTIATE_TEST_SUITE_P(
    ArrayOperators, Projecting,
    testing::Values(
        ProjectionCase{R"({"a": {"$slice": 2}})", R"({"a": [1, 2, 3], "b": 1})", R"({"a": [1, 2], "b": 1})"},
        ProjectionCase{R"({"a": {"$slice": -2}})", R"({"a": [1, 2, 3]})", R"({"a": [2, 3]})"},
        ProjectionCase{R"({"a": {"$slice": [1, 1]}})", R"({"a": [1, 2, 3]})", R"({"a": [2]})"},
        ProjectionCase{R"({"a": {"$slice": [-2, 1]}})", R"({"a": [1, 2, 3]})", R"({"a": [2]})"},
        ProjectionCase{R"({"a": {"$slice": 1}, "b": 1})", R"({"a": [1, 2, 3], "b": 1, "c": 1})",
                       R"({"a": [1], "b": 1})"},
        ProjectionCase{R"({"a": {"$slice": 1}})", R"({"a": 5})", R"({"a": 5})"},
        ProjectionCase{R"({"a": {"$elemMatch": {"x": 2}}})",
                       R"({"_id": 1, "a": [{"x": 1}, {"x": 2, "y": 1}, {"x": 2}], "b": 1})",
                       R"({"_id": 1, "a": [{"x": 2, "y": 1}]})"},
        ProjectionCase{R"({"a": {"$elemMatch": {"x": 3}}})", R"({"_id": 1, "a": [{"x": 1}]})", R"({"_id": 1})"},
        ProjectionCase{R"({"a.$": 1})", R"({"_id": 1, "a": [1, 5, 9]})", R"({"_id": 1, "a": [5]})",
                       R"({"a": {"$gt": 2}})"},
        ProjectionCase{R"({"a.b.$": 1})", R"({"a": {"b": [1, 5], "c": 1}})", R"({"a": {"b": [5]}})", R"({"a.b": 5})"}));

struct Refusal {
  const char* projection;
  int code;
  const char* reason;
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.projection; }
class RefusingProjections : public testing::TestWithParam<Refusal> {};

TEST_P(RefusingProjections, NamesTheFault) {
  const auto filter = parseMatch({}, {});
  const auto parsed = parseProjection(filterJson(GetParam().projection), filter->get(), {});
  EXPECT_EQ(GetParam().code, static_cast<int>(parsed.status().code()));
  EXPECT_EQ(GetParam().reason, parsed.status().reason());
}

INSTANTIATE_TEST_SUITE_P(
    Projections, RefusingProjections,
    testing::Values(
        Refusal{R"({"a": 1, "b": 0})", 31254, "Cannot do exclusion on field b in inclusion projection"},
        Refusal{R"({"a": 0, "b": 1})", 31253, "Cannot do inclusion on field b in exclusion projection"},
        Refusal{R"({"a": 1, "a.b": 1})", 31249, "Path collision at a.b remaining portion b"},
        Refusal{R"({"a.b": 1, "a": 1})", 31250, "Path collision at a"},
        Refusal{R"({"a": {}})", 51270, "An empty sub-projection is not a valid value. Found empty object at path"},
        Refusal{R"({"a.$": 1, "b.$": 1})", 31276, "Cannot specify more than one positional projection per query."},
        Refusal{R"({"a.$": 0})", 31395, "positional projection cannot be used with exclusion"},
        Refusal{R"({"a.b": {"$elemMatch": {"x": 1}}})", 31275, "Cannot use $elemMatch projection on a nested field."},
        Refusal{R"({"a.": 1})", 40353, "FieldPath must not end with a '.'."},
        Refusal{R"({"$a": 1})", 16410,
                "FieldPath field names may not start with '$'. Consider using $getField or $setField."},
        Refusal{R"({"a": {"$meta": "no"}})", 17308, "Unsupported argument to $meta: no"}));

TEST(Projection, NeedsAMatchingElementForThePositionalOperator) {
  const auto filter = parseMatch(filterJson(R"({"b": 1})"), {});
  const auto projection = parseProjection(filterJson(R"({"a.$": 1})"), filter->get(), {});
  const auto document = filterJson(R"({"a": [1], "b": 1})");
  EXPECT_EQ(ErrorCode(51246), (*projection)->apply({.document = document}).status().code());
}

TEST(Projection, ShowsMetadata) {
  const auto projection = parseProjection(filterJson(R"({"a": 1, "k": {"$meta": "sortKey"}})"), nullptr, {});
  ASSERT_TRUE((*projection)->needsSortKey());
  const auto document = filterJson(R"({"a": 1, "b": 2})");
  const auto sortKey = bson::array(7, "x");
  const auto shown = (*projection)->apply({.document = document, .sortKey = sortKey.element().asArray()});
  EXPECT_EQ(R"({ "a" : 1, "k" : [ 7, "x" ] })", bson::toRelaxedJson(*shown));
}

TEST(Projection, KnowsWhichPathsSuffice) {
  const auto paths = [](const char* spec) {
    return (*parseProjection(filterJson(spec), nullptr, {}))->requiredPaths();
  };
  EXPECT_EQ((std::vector<std::string>{"_id", "a", "b.c"}), paths(R"({"a": 1, "b.c": 1})"));
  EXPECT_EQ(std::vector<std::string>{"a"}, paths(R"({"a": 1, "_id": 0})"));
  EXPECT_TRUE(paths(R"({"a": 0})").empty());
  EXPECT_TRUE(paths(R"({"a": 1, "b": {"$slice": 1}})").empty());
}

TEST(ProjectionTree, ComputedFieldsFollowIncludedOnesAndReplaceAddedOnes) {
  const auto document = filterJson(R"({"x": 1, "a": 2, "b": {"c": 3}})");
  const auto seven = [](bson::View) -> StatusWith<bson::Value> { return bson::Value(7); };
  ProjectionTree include(ProjectionTree::Mode::kInclude);
  ASSERT_TRUE(include.compute("a", seven).isOK() && include.mark("b").isOK() && include.compute("n.m", seven).isOK());
  EXPECT_EQ(R"({ "b" : { "c" : 3 }, "a" : 7, "n" : { "m" : 7 } })", bson::toRelaxedJson(*include.apply(document)));
  ProjectionTree add(ProjectionTree::Mode::kAdd);
  ASSERT_TRUE(add.compute("a", seven).isOK() && add.compute("b.d", seven).isOK() && add.compute("z", seven).isOK());
  EXPECT_EQ(R"({ "x" : 1, "a" : 7, "b" : { "c" : 3, "d" : 7 }, "z" : 7 })", bson::toRelaxedJson(*add.apply(document)));
}

}  // namespace
}  // namespace troupe::query
