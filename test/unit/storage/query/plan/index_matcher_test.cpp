#include "storage/query/plan/index_matcher.hpp"

#include <cstring>

#include "test/unit/storage/query/plan/query_fixture.hpp"

namespace troupe::query {
namespace {

struct MatcherCase {
  const char* index;     ///< a key pattern, or a whole specification
  const char* document;  ///< one document that is there: it decides what is multikey; empty: none
  const char* filter;
  const char* bounds;  ///< as explain shows them; "-" when the index does not serve
  const char* rest;    ///< "exact", "key": the rest is tested on keys, "fetch": on documents
};

bson::Document json(const char* text) { return bson::operator""_json(text, std::strlen(text)); }

class IndexBounds : public QueryFixture, public ::testing::WithParamInterface<MatcherCase> {};

TEST_P(IndexBounds, AreDerivedFromTheFilter) {
  const MatcherCase& given = GetParam();
  create();
  const bson::Document spec = json(given.index);
  index(spec["key"].is(bson::Type::kDocument) ? spec : bson::doc("key", spec, "name", "x"));
  if (*given.document) insertAll({json(given.document)});
  const auto filter = parseMatch(json(given.filter), context);
  ASSERT_TRUE(filter.isOK()) << filter.status().toString();
  PlannedIndexes indexes(collection()->indexes(), nullptr);
  const auto query = IndexQuery::of(filter->get(), indexes, context);
  const auto planned = planIndex(collection()->indexes().back(), *query, false);
  ASSERT_TRUE(planned.isOK());
  const auto& plan = *planned;
  ASSERT_EQ(plan.has_value(), std::string_view(given.bounds) != "-") << given.filter;
  if (!plan) return;
  bson::Builder out;
  plan->explainBounds(out, nullptr);
  std::string text;
  const bson::Document explained = out.finish();
  for (const auto& field : explained["indexBounds"].asDocument()) {
    text += (text.empty() ? "" : " ") + std::string(field.name()) + ":";
    for (const auto& interval : field.asArray()) text += interval.asString();
  }
  EXPECT_EQ(text, given.bounds) << given.filter;
  EXPECT_EQ(!plan->residual.empty()    ? "fetch"
            : !plan->keyFilter.empty() ? "key"
                                       : "exact",
            std::string(given.rest))
      << given.filter;
}

constexpr const char* kNone = "";
constexpr const char* kArray = R"({"a": [1, 2]})";

INSTANTIATE_TEST_SUITE_P(
    Comparisons, IndexBounds,
    ::testing::Values(
        MatcherCase{R"({"a": 1})", kNone, R"({"a": 5})", "a:[5, 5]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"b": 5})", "-", ""},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gt": 5}})", "a:(5, inf.0]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gte": 5}})", "a:[5, inf.0]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$lt": 5}})", "a:[-inf.0, 5)", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$lt": "x"}})", R"(a:["", "x"))", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gt": "x"}})", R"(a:("x", {}))", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gt": false}})", "a:(false, true]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gt": {"$numberDouble": "NaN"}}})", "a:", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gte": {"$numberDouble": "NaN"}}})", "a:[nan.0, nan.0]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gte": {"$minKey": 1}}})", "a:[MinKey, MaxKey]", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": null})", "a:[undefined, undefined][null, null]", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$eq": [1, 2]}})", "a:[1, 1][[ 1, 2 ], [ 1, 2 ]]", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$eq": []}})", "a:[undefined, undefined][[], []]", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$in": [3, 1, 3]}})", "a:[1, 1][3, 3]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$in": [3, null]}})", "a:[undefined, undefined][null, null][3, 3]",
                    "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gt": 1, "$lte": 5}})", "a:(1, 5]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$gt": 5, "$lt": 1}})", "a:", "exact"}));

INSTANTIATE_TEST_SUITE_P(
    OtherConditions, IndexBounds,
    ::testing::Values(
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$exists": true}})", "a:[MinKey, MaxKey]", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$exists": false}})", "a:[undefined, undefined][null, null]",
                    "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$ne": 5}})", "a:[MinKey, 5)(5, MaxKey]", "exact"},
        MatcherCase{R"({"a": 1})", kArray, R"({"a": {"$ne": 5}})", "a:[MinKey, 5)(5, MaxKey]", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$not": {"$gt": 5}}})", "a:[MinKey, 5](inf.0, MaxKey]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$nin": [1, 2]}})", "a:[MinKey, 1)(1, 2)(2, MaxKey]", "exact"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$ne": null}})", "a:[MinKey, null)(null, MaxKey]", "fetch"},
        MatcherCase{R"({"a": 1})", kArray, R"({"a": {"$ne": null}})", "-", ""},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$regex": "^abc", "$options": ""}})",
                    R"(a:["abc", "abd")[/^abc/, /^abc/])", "key"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$regex": "abc", "$options": ""}})", R"(a:["", {})[/abc/, /abc/])",
                    "key"},
        MatcherCase{R"({"a": 1})", kArray, R"({"a": {"$regex": "^abc", "$options": ""}})",
                    R"(a:["abc", "abd")[/^abc/, /^abc/])", "fetch"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$mod": [2, 0]}})", "a:[-inf.0, inf.0]", "key"},
        MatcherCase{R"({"a": 1})", kNone, R"({"a": {"$size": 2}})", "-", ""},
        MatcherCase{R"({"a": 1})", kNone, R"({"$nor": [{"a": 1}]})", "-", ""},
        MatcherCase{R"({"a": "hashed"})", kNone, R"({"a": {"$gt": 5}})", "-", ""}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, IndexBounds,
    ::testing::Values(
        // Different elements may meet the two conditions: only one can be a bound.
        MatcherCase{R"({"a": 1})", kArray, R"({"a": {"$gt": 1, "$lt": 5}})", "a:(1, inf.0]", "fetch"},
        MatcherCase{R"({"a": 1})", kArray, R"({"a": {"$gt": 1, "$in": [2, 3]}})", "a:[2, 2][3, 3]", "fetch"},
        // ... unless they are about the same element.
        MatcherCase{R"({"a": 1})", kArray, R"({"a": {"$elemMatch": {"$gt": 1, "$lt": 5}}})", "a:(1, 5)", "fetch"},
        MatcherCase{R"({"a": 1})", kArray, R"({"a": 2})", "a:[2, 2]", "exact"},
        MatcherCase{R"({"a": 1, "b": 1})", kArray, R"({"a": 2, "b": {"$gt": 1, "$lt": 5}})", "a:[2, 2] b:(1, 5)",
                    "exact"},
        MatcherCase{R"({"a.b": 1, "a.c": 1})", R"({"a": [{"b": 1, "c": 2}]})", R"({"a.b": 1, "a.c": 2})",
                    "a.b:[1, 1] a.c:[MinKey, MaxKey]", "fetch"},
        MatcherCase{R"({"a.b": 1, "a.c": 1})", R"({"a": {"b": 1, "c": 2}})", R"({"a.b": 1, "a.c": 2})",
                    "a.b:[1, 1] a.c:[2, 2]", "exact"},
        MatcherCase{R"({"a.b": 1, "a.c": 1})", R"({"a": [{"b": 1, "c": 2}]})",
                    R"({"a": {"$elemMatch": {"b": 1, "c": 2}}})", "a.b:[1, 1] a.c:[2, 2]", "fetch"},
        MatcherCase{R"({"a.b": 1, "c": 1})", R"({"a": [{"b": 1}]})", R"({"a.b": 1, "c": {"$gt": 1, "$lt": 4}})",
                    "a.b:[1, 1] c:(1, 4)", "exact"}));

INSTANTIATE_TEST_SUITE_P(
    CompoundAndDescending, IndexBounds,
    ::testing::Values(MatcherCase{R"({"a": -1})", kNone, R"({"a": {"$gt": 5}})", "a:[inf.0, 5)", "exact"},
                      MatcherCase{R"({"a": 1, "b": -1})", kNone, R"({"a": 1, "b": {"$gte": 2, "$lt": 7}})",
                                  "a:[1, 1] b:(7, 2]", "exact"},
                      MatcherCase{R"({"a": 1, "b": 1})", kNone, R"({"b": 1})", "-", ""},
                      MatcherCase{R"({"a": 1, "b": 1})", kNone, R"({"a": 1})", "a:[1, 1] b:[MinKey, MaxKey]", "exact"},
                      MatcherCase{R"({"a": 1, "b": 1, "c": 1})", kNone, R"({"a": 1, "c": 3})",
                                  "a:[1, 1] b:[MinKey, MaxKey] c:[3, 3]", "exact"},
                      MatcherCase{R"({"a": 1})", kNone, R"({"a": 1, "b": 2})", "a:[1, 1]", "fetch"}));

INSTANTIATE_TEST_SUITE_P(
    IndexesThatLackDocuments, IndexBounds,
    ::testing::Values(
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "sparse": true})", kNone, R"({"a": 1})", "a:[1, 1]", "exact"},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "sparse": true})", kNone, R"({"a": null})", "-", ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "sparse": true})", kNone, R"({"a": {"$exists": false}})", "-",
                    ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "sparse": true})", kNone, R"({"a": {"$ne": 1}})", "-", ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "sparse": true})", kNone, R"({"a": {"$exists": true}})",
                    "a:[MinKey, MaxKey]", "fetch"},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$gt": 5}}})", kNone,
                    R"({"a": 1})", "-", ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$gt": 5}}})", kNone,
                    R"({"a": 1, "b": {"$gt": 6}})", "a:[1, 1]", "fetch"},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$gt": 5}}})", kNone,
                    R"({"a": 1, "b": {"$gte": 5}})", "-", ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$gt": 5}}})", kNone,
                    R"({"a": 1, "b": 7})", "a:[1, 1]", "fetch"},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$gt": 5}}})", kNone,
                    R"({"a": 1, "b": {"$in": [6, 5]}})", "-", ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$exists": true}}})", kNone,
                    R"({"a": 1, "b": {"$lt": "x"}})", "a:[1, 1]", "fetch"},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$exists": true}}})", kNone,
                    R"({"a": 1, "b": null})", "-", ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "collation": {"locale": "en"}})", kNone, R"({"a": "x"})", "-",
                    ""},
        MatcherCase{R"({"key": {"a": 1}, "name": "x", "collation": {"locale": "en"}})", kNone, R"({"a": 5})",
                    "a:[5, 5]", "exact"}));

}  // namespace
}  // namespace troupe::query
