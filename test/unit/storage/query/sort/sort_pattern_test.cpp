#include "storage/query/sort/sort_pattern.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "test/unit/storage/query/match/filter_json.hpp"
#include "test/unit/storage/query/test_work.hpp"

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

TEST(SortPattern, TakesTheBestOfArraysWithinTheElement) {
  const auto values = [](const char* spec, const char* document) {
    return bson::toRelaxedJson(*pattern(spec).keyValues(filterJson(document)));
  };
  const char* const document = R"({"x": 7, "a": [{"b": [3, 1], "c": 1}, {"b": 1, "c": [5, 2]}, {"b": 2, "c": 9}, 4]})";
  EXPECT_EQ(values(R"({"a.b": 1, "a.c": -1})", document), bson::toRelaxedJson(filterJson(R"({"": null, "": null})")))
      << "a number has neither field";
  EXPECT_EQ(values(R"({"a.b": -1, "a.c": -1})", document), bson::toRelaxedJson(filterJson(R"({"": 3, "": 1})")));
  EXPECT_EQ(values(R"({"x": 1, "a.c": -1, "a.1.b": 1, "a.b": 1})", document),
            bson::toRelaxedJson(filterJson(R"({"": 7, "": 9, "": 1, "": 2})")));
  EXPECT_EQ(values(R"({"a.b": -1, "a": 1})", R"({"a": [{"b": 1}, {"b": 2}, {"b": 2, "c": 0}]})"),
            bson::toRelaxedJson(filterJson(R"({"": 2, "": {"b": 2}})")));
}

/// {x: text, a: [{b: 0, c: 0}, {b: 0, c: 0} ...]}
bson::Document elements(int count, const std::string& text = "") {
  bson::Builder b;
  b.append("x", text).openArray("a");
  for (int i = 0; i < count; ++i) b.push(bson::doc("b", 0, "c", 0));
  return b.close().finish();
}

TEST(SortPattern, WalksPartsOfOneArrayTogetherAsStepsOfTheOperation) {
  const auto looks = [](const bson::Document& document, bool killed) {
    TestWork work;
    work.killed = killed;
    const auto p = SortPattern::parse(filterJson(R"({"x": 1, "a.b": 1, "a.c": 1})"), {.work = &work});
    EXPECT_EQ(p->key(document).status().code(), killed ? ErrorCode::kInterrupted : ErrorCode::kOK);
    return work.looks;
  };
  const int few = looks(elements(20'000), false);
  EXPECT_GT(few, 0);
  EXPECT_LE(looks(elements(200'000), false), 12 * few);
  EXPECT_LE(looks(elements(20'000, std::string(4'000'000, 'x')), false), 2 * few)
      << "a value beside the array is not compared for each element";
  looks(elements(20'000), true);
}

TEST(SortPattern, ChargesTheKeyWhileItIsMade) {
  // {"a": 1, "a.a": 1, "a.a.a": 1 ...}: each part holds those behind it.
  bson::Document document = bson::doc("a", std::string(2'000'000, 'x'));
  bson::Builder spec;
  std::string path = "a";
  for (int i = 0; i < 30; ++i) {
    spec.append(path, 1);
    path += ".a";
    document = bson::doc("a", document);
  }
  TestWork work(int64_t{16} << 20);
  const auto p = SortPattern::parse(spec.finish(), {.work = &work});
  EXPECT_EQ(p->key(document).status().code(), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(work.budget.used(), 0);
}

TEST(SortPattern, ComparesNoMorePartsThanItMayHave) {
  bson::Builder spec;
  for (int i = 0; i < 33; ++i) spec.append("a" + std::to_string(i), 1);
  spec.append("a0", 1);
  EXPECT_EQ(SortPattern::parse(spec.finish(), {}).status().code(), ErrorCode(13103));
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
