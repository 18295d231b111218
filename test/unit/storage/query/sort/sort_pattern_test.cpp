#include "storage/query/sort/sort_pattern.hpp"

#include <gtest/gtest.h>

#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

SortPattern pattern(const char* spec) { return std::move(SortPattern::parse(filterJson(spec), {})).value(); }

/// -1, 0 or 1, after seeing that keys and values agree.
int order(const char* spec, const char* a, const char* b) {
  const auto p = pattern(spec);
  const auto sign = [](int n) { return (n > 0) - (n < 0); };
  const int byKey = sign(p.key(filterJson(a))->compare(*p.key(filterJson(b))));
  EXPECT_EQ(byKey, p.compareKeyValues(*p.keyValues(filterJson(a)), *p.keyValues(filterJson(b))));
  return byKey;
}

TEST(SortPattern, OrdersByFieldsAndDirections) {
  EXPECT_EQ(-1, order(R"({"a": 1})", R"({"a": 1})", R"({"a": 2})"));
  EXPECT_EQ(1, order(R"({"a": -1})", R"({"a": 1})", R"({"a": 2})"));
  EXPECT_EQ(1, order(R"({"a": 1, "b": -1})", R"({"a": 1, "b": 1})", R"({"a": 1.0, "b": 2})"));
  EXPECT_EQ(-1, order(R"({"a.b": 1})", R"({"a": {"b": 1}})", R"({"a": {"b": "x"}})"));
}

TEST(SortPattern, CountsAMissingFieldAsNull) {
  EXPECT_EQ(0, order(R"({"a": 1})", R"({})", R"({"a": null})"));
  EXPECT_EQ(-1, order(R"({"a": 1})", R"({})", R"({"a": 0})"));
  EXPECT_EQ(0, order(R"({"a.b": 1})", R"({"a": 5})", R"({"a": {"b": null}})"));
}

TEST(SortPattern, TakesTheLeastOfAnArrayOrTheGreatest) {
  EXPECT_EQ(-1, order(R"({"a": 1})", R"({"a": [9, 1]})", R"({"a": 2})"));
  EXPECT_EQ(-1, order(R"({"a": -1})", R"({"a": [9, 1]})", R"({"a": 2})"));
  EXPECT_EQ(-1, order(R"({"a": 1})", R"({"a": []})", R"({"a": null})"));
  EXPECT_EQ(-1, order(R"({"a.b": 1})", R"({"a": [{"b": 5}, {"b": 1}]})", R"({"a": {"b": 2}})"));
  EXPECT_EQ(0, order(R"({"a.1": 1})", R"({"a": [5, 7]})", R"({"a": {"1": 7}})"));
}

TEST(SortPattern, TakesFieldsOfOneArrayFromOneElement) {
  EXPECT_EQ(1, order(R"({"a.b": 1, "a.c": 1})", R"({"a": [{"b": 1, "c": 9}, {"b": 2, "c": 0}]})",
                     R"({"a": {"b": 1, "c": 5}})"));
}

TEST(SortPattern, RefusesParallelArrays) {
  EXPECT_EQ(ErrorCode::kBadValue,
            pattern(R"({"a": 1, "b": 1})").key(filterJson(R"({"a": [1], "b": [2]})")).status().code());
}

TEST(SortPattern, RefusesWhatIsNoPattern) {
  const auto code = [](const char* spec) {
    return static_cast<int>(SortPattern::parse(filterJson(spec), {}).status().code());
  };
  EXPECT_EQ(15976, code("{}"));
  EXPECT_EQ(15975, code(R"({"a": 2})"));
  EXPECT_EQ(15974, code(R"({"a": "x"})"));
  EXPECT_EQ(15998, code(R"({"a..b": 1})"));
  EXPECT_EQ(17312, code(R"({"a": {"x": 1}})"));
}

}  // namespace
}  // namespace troupe::query
