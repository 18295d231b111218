#include <functional>

#include "storage/query/plan/key_ranges.hpp"
#include "storage/query/plan/planned_indexes.hpp"
#include "test/unit/storage/query/plan/query_fixture.hpp"
#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

/// Filters of very many parts: planning them takes as long as they are large, and a kill ends it.
class PlannerWork : public QueryFixture {
 protected:
  PlannerWork() {
    create();
    for (const char* field : {"a", "b", "c"}) index(bson::doc("key", bson::doc(field, 1), "name", field));
    index(R"({"key": {"a": 1, "d": 1}, "name": "partial", "partialFilterExpression": {"d": {"$gt": 3}}})"_json);
    insertAll({R"({"_id": 1, "a": 1, "b": 2, "c": 3, "d": 4})"_json, R"({"_id": 2, "a": 5, "b": 2, "c": 7})"_json});
  }

  static bson::Document times(std::string_view operation, int count, const bson::Document& part) {
    bson::Builder b;
    b.openArray(operation);
    for (int i = 0; i < count; ++i) b.push(part);
    return b.close().finish();
  }
  /// What planning ends with, the filter being parsed already.
  Status plan(const bson::Document& filter, QueryWork& work) {
    const auto parsed = parseMatch(filter, context);
    if (!parsed.isOK()) return parsed.status();
    unit->abandonSnapshot();
    ParseContext planning = context;
    planning.work = &work;
    return openScan(collection(), **parsed, {}, *unit, planning).status();
  }
  Status planKilled(const bson::Document& filter) {
    TestWork work;
    work.killed = true;
    return plan(filter, work);
  }
  /// How often the operation was looked at: once in 4096 steps.
  int looksOf(const bson::Document& filter) {
    TestWork work(int64_t{1} << 30);
    const Status status = plan(filter, work);
    EXPECT_TRUE(status.isOK()) << status.toString();
    return work.looks;
  }
};

TEST_F(PlannerWork, OfManyConditionsIsLinearAndEndsWithTheOperation) {
  for (const char* part :
       {R"({"_id": 1})", R"({"a": 1})", R"({"a": {"$gt": 0}})", R"({"a": {"$elemMatch": {"$gt": 0}}})"}) {
    const bson::Document one = bson::operator""_json(part, std::strlen(part));
    EXPECT_EQ(planKilled(times("$and", 20'000, one)).code(), ErrorCode::kInterrupted) << part;
    const int few = looksOf(times("$and", 20'000, one)), many = looksOf(times("$and", 200'000, one));
    EXPECT_GT(few, 0) << part;
    EXPECT_LE(many, 13 * few) << part;
  }
}

TEST_F(PlannerWork, OffersTheFirstConditionsOfAPathAndAPointAndTestsTheOthers) {
  bson::Builder b;
  b.openArray("$and");
  for (int i = 0; i < 100; ++i) b.push(bson::doc("a", bson::doc("$gte", i - 98)));  // at last: a >= 1
  b.push(R"({"a": {"$lt": 2}})"_json);
  EXPECT_EQ(find(b.finish()), R"({ "_id" : 1, "a" : 1, "b" : 2, "c" : 3, "d" : 4 })");
  bson::Builder point;
  point.openArray("$and");
  for (int i = 0; i < 100; ++i) point.push(R"({"a": {"$gte": 0}})"_json);
  point.push(R"({"a": 5})"_json).close();
  const bson::Document filter = point.finish();
  EXPECT_EQ(find(filter), R"({ "_id" : 2, "a" : 5, "b" : 2, "c" : 7 })");
  EXPECT_THAT(bson::toRelaxedJson(planOf(filter)), ::testing::HasSubstr(R"("a" : [ "[5, 5]" ])"));
}

TEST_F(PlannerWork, TakesAFewOfManyAlternatives) {
  const auto either = R"({"$or": [{"a": 1}, {"b": 1}]})"_json;
  const bson::Document plan = planOf(times("$and", 500, either));
  EXPECT_EQ(plan["rejectedPlans"].asArray().count(), 7) << "each would hold all of the filter as its rest";
  EXPECT_EQ(planKilled(times("$and", 20'000, either)).code(), ErrorCode::kInterrupted);
}

TEST_F(PlannerWork, OfManyBranchesEndsWithTheOperation) {
  EXPECT_EQ(planKilled(times("$or", 20'000, R"({"a": 1})"_json)).code(), ErrorCode::kInterrupted);
  const int few = looksOf(times("$or", 2'000, R"({"a": 1})"_json));
  EXPECT_GT(few, 0);
  EXPECT_LE(looksOf(times("$or", 20'000, R"({"a": 1})"_json)), 13 * few);
  TestWork work;
  EXPECT_EQ(plan(times("$or", 20'000, R"({"a": 1})"_json), work).code(), ErrorCode::kExceededMemoryLimit);
}

TEST_F(PlannerWork, OfLargeListsEndsWithTheOperation) {
  bson::Builder values;
  values.openDocument("a").openArray("$in");
  for (int i = 0; i < 20'000; ++i) values.push(i);
  EXPECT_EQ(planKilled(values.close().close().finish()).code(), ErrorCode::kInterrupted);
  // A list against very many ranges of the same element.
  bson::Builder element;
  element.openDocument("a").openDocument("$elemMatch").openArray("$in");
  for (int i = 0; i < 20'000; ++i) element.push(i);
  element.close().openArray("$nin");
  for (int i = 0; i < 20'000; ++i) element.push(2 * i);
  element.close().close().close();
  EXPECT_GT(looksOf(element.finish()), 0);
}

TEST_F(PlannerWork, ComparesConditionsWithPartialFiltersAsStepsOfTheOperation) {
  // Alternatives within alternatives on both sides are compared along every path through both.
  bson::Document query = R"({"d": 0})"_json, partial = R"({"d": {"$gt": 5}})"_json;
  for (int i = 0; i < 12; ++i) {
    query = bson::doc("$or", bson::Value::array(bson::doc("0", query, "1", query)));
    partial = bson::doc("$or", bson::Value::array(bson::doc("0", partial, "1", bson::doc("e", i))));
  }
  index(bson::doc("key", R"({"d": 1})"_json, "name", "d", "partialFilterExpression", partial));
  EXPECT_EQ(planKilled(bson::doc("d", 1, "$or", query["$or"])).code(), ErrorCode::kInterrupted);
}

TEST_F(PlannerWork, ChargesPlansAndDoesWithoutAChoiceWhenTheyAreLarge) {
  bson::Builder filter;
  filter.openDocument("a").openArray("$in");
  for (int i = 0; i < 10'000; ++i) filter.push(i);
  filter.close().close();
  for (int i = 0; i < 20; ++i) {
    const std::string field = "f" + std::to_string(i);
    index(bson::doc("key", bson::doc("a", 1, field, 1), "name", field));
    filter.append(field, 1);
  }
  const bson::Document wanted = filter.finish();
  const auto parsed = parseMatch(wanted, context);
  const auto rejectedOf = [&](int64_t limit) -> StatusWith<int64_t> {
    TestWork work(limit);
    ParseContext planning = context;
    planning.work = &work;
    unit->abandonSnapshot();
    TROUPE_ASSIGN(const auto executor, openScan(collection(), **parsed, {}, *unit, planning));
    EXPECT_GE(work.budget.used(), 1'500'000);
    bson::Builder out;
    executor->explainPlanner(out);
    return out.finish()["rejectedPlans"].asArray().count();
  };
  EXPECT_EQ(rejectedOf(int64_t{1} << 30).value(), 19);
  EXPECT_LT(rejectedOf(int64_t{8} << 20).value(), 6);
  EXPECT_EQ(rejectedOf(int64_t{1} << 20).status().code(), ErrorCode::kExceededMemoryLimit);
}

Intervals points(int count) {
  Intervals out;
  for (int i = 0; i < count; ++i) out.push_back(Interval::point(bson::doc("", i).view().first()));
  return out;
}

TEST_F(PlannerWork, ListsOfIntervalsAreMadeInSteps) {
  const Intervals many = points(20'000);
  const std::vector<Intervals> bounds{many};
  const std::vector<std::pair<const char*, std::function<void(QueryWork*)>>> makers{
      {"unite", [&](QueryWork* work) { unite(many, work); }},
      {"intersect", [&](QueryWork* work) { intersect(many, many, work); }},
      {"complement", [&](QueryWork* work) { complement(many, work); }},
      {"encode", [&](QueryWork* work) { KeyRanges(bounds, {false}, true, work); }},
  };
  for (const auto& [name, make] : makers) {
    TestWork work;
    make(&work);
    EXPECT_GE(work.looks, 4) << name;
    TestWork killed;
    killed.killAtLook = 2;
    make(&killed);
    EXPECT_EQ(killed.checkForInterrupt().code(), ErrorCode::kInterrupted) << name << " began";
    EXPECT_LE(killed.looks, 4) << name << " ended";
  }
  EXPECT_EQ(unite(many, nullptr).size(), many.size());
  TestWork killed;
  killed.killed = true;
  EXPECT_FALSE(KeyRanges(bounds, {false}, true, &killed).interrupt().isOK());
}

TEST_F(PlannerWork, AnExplanationHasALimitAndEndsWithTheOperation) {
  bson::Builder filter;
  filter.openDocument("a").openArray("$in");
  for (int i = 0; i < 50'000; ++i) filter.push(1'000'000 + i);
  filter.close().close();
  for (int i = 0; i < 20; ++i) {
    const std::string field = "f" + std::to_string(i);
    index(bson::doc("key", bson::doc("a", 1, field, 1), "name", field));
    filter.append(field, 1);
  }
  const auto parsed = parseMatch(filter.finish(), context);
  TestWork work(int64_t{1} << 30);
  ParseContext planning = context;
  planning.work = &work;
  unit->abandonSnapshot();
  const auto executor = openScan(collection(), **parsed, {}, *unit, planning);
  ASSERT_TRUE(executor.isOK());
  work.looks = 0;
  bson::Builder out;
  (*executor)->explainPlanner(out);
  EXPECT_LT(out.size(), size_t{16} << 20);
  EXPECT_THAT(bson::toRelaxedJson(out.finish()), ::testing::HasSubstr("exceeded BSON size limit"));
  EXPECT_GE(work.looks, 20) << "some 400,000 bounds";
  work.killed = true;
  bson::Builder none;
  (*executor)->explainPlanner(none);
  EXPECT_LT(none.size(), size_t{4} << 20) << "the filter, and no bounds";
}

TEST_F(PlannerWork, ParsesAPartialFilterOnce) {
  PlannedIndexes indexes(collection()->indexes(), nullptr);
  const MatchExpression* const filter = indexes.partialFilter(*collection()->indexes().back());
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(indexes.partialFilter(*collection()->indexes().back()), filter);
}

}  // namespace
}  // namespace troupe::query
