#include "storage/query/match/match_parser.hpp"

#include <gtest/gtest.h>

#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

struct FilterCase {
  const char* filter;
  const char* document;
  bool matches;
};
void PrintTo(const FilterCase& c, std::ostream* out) { *out << c.filter << " over " << c.document; }

bson::Document json(std::string_view text) { return filterJson(text); }

class Matching : public testing::TestWithParam<FilterCase> {};

TEST_P(Matching, IsAsTheServerDoesIt) {
  const auto filter = json(GetParam().filter);
  const auto document = json(GetParam().document);
  const auto parsed = parseMatch(filter, {});
  ASSERT_TRUE(parsed.isOK()) << parsed.status().toString();
  EXPECT_EQ(GetParam().matches, (*parsed)->matches(document));
}

INSTANTIATE_TEST_SUITE_P(
    Equality, Matching,
    testing::Values(FilterCase{R"({})", R"({"a": 1})", true}, FilterCase{R"({"a": 1})", R"({"a": 1})", true},
                    FilterCase{R"({"a": 1})", R"({"a": 1.0})", true},
                    FilterCase{R"({"a": 1})", R"({"a": {"$numberDecimal": "1"}})", true},
                    FilterCase{R"({"a": 1})", R"({"a": "1"})", false}, FilterCase{R"({"a": 1})", R"({"b": 1})", false},
                    FilterCase{R"({"a": 1, "b": 2})", R"({"a": 1, "b": 3})", false},
                    FilterCase{R"({"a": {"b": 1}})", R"({"a": {"b": 1}})", true},
                    FilterCase{R"({"a": {"b": 1}})", R"({"a": {"b": 1, "c": 2}})", false},
                    FilterCase{R"({"a": {"b": 1, "c": 2}})", R"({"a": {"c": 2, "b": 1}})", false},
                    FilterCase{R"({"a.b": 1})", R"({"a": {"b": 1, "c": 2}})", true},
                    FilterCase{R"({"a": {"$eq": 1}})", R"({"a": 1})", true},
                    FilterCase{R"({"a": {"$ne": 1}})", R"({"a": 1})", false},
                    FilterCase{R"({"a": {"$ne": 1}})", R"({})", true},
                    FilterCase{R"({"a": {"$ne": 1}})", R"({"a": [1, 2]})", false},
                    FilterCase{R"({"a": {"$ref": "c", "$id": 1}})", R"({"a": {"$ref": "c", "$id": 1}})", true}));

INSTANTIATE_TEST_SUITE_P(Null, Matching,
                         testing::Values(FilterCase{R"({"a": null})", R"({"a": null})", true},
                                         FilterCase{R"({"a": null})", R"({})", true},
                                         FilterCase{R"({"a": null})", R"({"a": {"$undefined": true}})", true},
                                         FilterCase{R"({"a": null})", R"({"a": 0})", false},
                                         FilterCase{R"({"a": null})", R"({"a": []})", false},
                                         FilterCase{R"({"a": null})", R"({"a": [1, null]})", true},
                                         FilterCase{R"({"a": {"$ne": null}})", R"({})", false},
                                         FilterCase{R"({"a.b": null})", R"({"a": 5})", true},
                                         FilterCase{R"({"a.b": null})", R"({"a": {}})", true},
                                         FilterCase{R"({"a.b": null})", R"({"a": []})", false},
                                         FilterCase{R"({"a.b": null})", R"({"a": [1, 2]})", false},
                                         FilterCase{R"({"a.b": null})", R"({"a": [{"b": 1}, {"c": 1}]})", true},
                                         FilterCase{R"({"a.b": {"$exists": false}})", R"({"a": [1]})", true},
                                         FilterCase{R"({"a": {"$gte": null}})", R"({})", true},
                                         FilterCase{R"({"a": {"$gt": null}})", R"({"a": null})", false}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, Matching,
    testing::Values(FilterCase{R"({"a": 2})", R"({"a": [1, 2, 3]})", true},
                    FilterCase{R"({"a": [1, 2]})", R"({"a": [1, 2]})", true},
                    FilterCase{R"({"a": [1, 2]})", R"({"a": [2, 1]})", false},
                    FilterCase{R"({"a": [1, 2]})", R"({"a": [[1, 2], 3]})", true},
                    FilterCase{R"({"a": []})", R"({"a": []})", true},
                    FilterCase{R"({"a": 1})", R"({"a": [[1]]})", false},
                    FilterCase{R"({"a.b": 1})", R"({"a": [{"b": 2}, {"b": 1}]})", true},
                    FilterCase{R"({"a.b": 1})", R"({"a": [[{"b": 1}]]})", false},
                    FilterCase{R"({"a.0.b": 1})", R"({"a": [[{"b": 1}]]})", true},
                    FilterCase{R"({"a.0": 1})", R"({"a": [1, 2]})", true},
                    FilterCase{R"({"a.1": 1})", R"({"a": [1, 2]})", false},
                    FilterCase{R"({"a.0": 1})", R"({"a": [[1, 2]]})", true},
                    FilterCase{R"({"a.0": 7})", R"({"a": [{"0": 7}]})", true},
                    FilterCase{R"({"a.0": 7})", R"({"a": {"0": 7}})", true},
                    FilterCase{R"({"a.00": 1})", R"({"a": [1, 2]})", false},
                    FilterCase{R"({"a.b.c": 3})", R"({"a": [{"b": [{"c": 1}]}, {"b": [{"c": 3}]}]})", true},
                    FilterCase{R"({"a": {"$gt": 1, "$lt": 3}})", R"({"a": [0, 5]})", true},
                    FilterCase{R"({"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}})", R"({"a": [0, 5]})", false},
                    FilterCase{R"({"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}})", R"({"a": [0, 2]})", true},
                    FilterCase{R"({"a": {"$elemMatch": {"$gt": 1}}})", R"({"a": 2})", false},
                    FilterCase{R"({"a": {"$elemMatch": {"$not": {"$gt": 1}}}})", R"({"a": [5, 1]})", true},
                    FilterCase{R"({"a": {"$elemMatch": {"b": 1, "c": 2}}})", R"({"a": [{"b": 1}, {"c": 2}]})", false},
                    FilterCase{R"({"a": {"$elemMatch": {"b": 1, "c": 2}}})", R"({"a": [{"b": 1, "c": 2}]})", true},
                    FilterCase{R"({"a": {"$elemMatch": {"$or": [{"b": 1}, {"c": 2}]}}})", R"({"a": [{"c": 2}]})", true},
                    FilterCase{R"({"a": {"$elemMatch": {"0": 1}}})", R"({"a": [[1]]})", true},
                    FilterCase{R"({"a.b": {"$elemMatch": {"$eq": 1}}})", R"({"a": [{"b": 2}, {"b": [1]}]})", true},
                    FilterCase{R"({"a": {"$all": [1, 2]}})", R"({"a": [2, 1, 3]})", true},
                    FilterCase{R"({"a": {"$all": [1, 4]}})", R"({"a": [2, 1, 3]})", false},
                    FilterCase{R"({"a": {"$all": []}})", R"({"a": []})", false},
                    FilterCase{R"({"a": {"$all": [[1, 2]]}})", R"({"a": [1, 2]})", true},
                    FilterCase{R"({"a": {"$all": [{"$elemMatch": {"b": 1}}, {"$elemMatch": {"b": 2}}]}})",
                               R"({"a": [{"b": 2}, {"b": 1}]})", true},
                    FilterCase{R"({"a": {"$size": 2}})", R"({"a": [1, 2]})", true},
                    FilterCase{R"({"a": {"$size": 1}})", R"({"a": [[1, 2]]})", true},
                    FilterCase{R"({"a": {"$size": 2}})", R"({"a": [[1, 2]]})", false},
                    FilterCase{R"({"a": {"$size": 0}})", R"({})", false}));

INSTANTIATE_TEST_SUITE_P(
    Comparison, Matching,
    testing::Values(FilterCase{R"({"a": {"$gt": 1}})", R"({"a": 2})", true},
                    FilterCase{R"({"a": {"$gt": 1}})", R"({"a": "2"})", false},
                    FilterCase{R"({"a": {"$gte": 1}})", R"({"a": 1.0})", true},
                    FilterCase{R"({"a": {"$lt": "b"}})", R"({"a": "a"})", true},
                    FilterCase{R"({"a": {"$lt": 5}})", R"({"a": {"$numberDouble": "NaN"}})", false},
                    FilterCase{R"({"a": {"$gte": {"$numberDouble": "NaN"}}})", R"({"a": {"$numberDecimal": "NaN"}})",
                               true},
                    FilterCase{R"({"a": {"$gte": {"$numberDouble": "NaN"}}})", R"({"a": 1})", false},
                    FilterCase{R"({"a": {"$numberDouble": "NaN"}})", R"({"a": {"$numberDouble": "NaN"}})", true},
                    FilterCase{R"({"a": {"$gt": {"$minKey": 1}}})", R"({"a": "x"})", true},
                    FilterCase{R"({"a": {"$lt": {"$maxKey": 1}}})", R"({"a": 1})", true},
                    FilterCase{R"({"a": {"$gt": [1]}})", R"({"a": [1, 2]})", true},
                    FilterCase{R"({"a": {"$lt": {"b": 2}}})", R"({"a": {"b": 1}})", true},
                    FilterCase{R"({"a": {"$gt": {"$date": {"$numberLong": "0"}}}})",
                               R"({"a": {"$date": {"$numberLong": "5"}}})", true},
                    FilterCase{R"({"a": {"$in": [1, "x", null]}})", R"({"a": "x"})", true},
                    FilterCase{R"({"a": {"$in": [1, "x", null]}})", R"({})", true},
                    FilterCase{R"({"a": {"$in": [1, 2]}})", R"({"a": [5, 2]})", true},
                    FilterCase{R"({"a": {"$in": [[5, 2]]}})", R"({"a": [5, 2]})", true},
                    FilterCase{R"({"a": {"$in": [{"$regularExpression": {"pattern": "^x", "options": ""}}]}})",
                               R"({"a": "xyz"})", true},
                    FilterCase{R"({"a": {"$in": []}})", R"({"a": 1})", false},
                    FilterCase{R"({"a": {"$nin": [1, 2]}})", R"({"a": [3, 2]})", false},
                    FilterCase{R"({"a": {"$nin": [1, 2]}})", R"({})", true},
                    FilterCase{R"({"a": {"$mod": [4, 1]}})", R"({"a": 9})", true},
                    FilterCase{R"({"a": {"$mod": [4, 1]}})", R"({"a": 9.7})", true},
                    FilterCase{R"({"a": {"$mod": [4, -1]}})", R"({"a": -9})", true},
                    FilterCase{R"({"a": {"$mod": [4, 1]}})", R"({"a": "9"})", false}));

INSTANTIATE_TEST_SUITE_P(
    Others, Matching,
    testing::Values(FilterCase{R"({"$or": [{"a": 1}, {"b": 2}]})", R"({"b": 2})", true},
                    FilterCase{R"({"$nor": [{"a": 1}, {"b": 2}]})", R"({"b": 2})", false},
                    FilterCase{R"({"$and": [{"a": 1}, {"a": 2}]})", R"({"a": [1, 2]})", true},
                    FilterCase{R"({"a": {"$not": {"$gt": 1}}})", R"({"a": "x"})", true},
                    FilterCase{R"({"a": {"$not": {"$gt": 1, "$lt": 3}}})", R"({"a": 2})", false},
                    FilterCase{R"({"a": {"$not": {"$regularExpression": {"pattern": "x", "options": ""}}}})",
                               R"({"a": "x"})", false},
                    FilterCase{R"({"a": {"$exists": true}})", R"({"a": null})", true},
                    FilterCase{R"({"a": {"$exists": false}})", R"({"a": null})", false},
                    FilterCase{R"({"a": {"$exists": 0}})", R"({})", true},
                    FilterCase{R"({"a": {"%type": "number"}})", R"({"a": 1.5})", true},
                    FilterCase{R"({"a": {"%type": 2}})", R"({"a": "x"})", true},
                    FilterCase{R"({"a": {"%type": "array"}})", R"({"a": []})", true},
                    FilterCase{R"({"a": {"%type": "string"}})", R"({"a": [1, "x"]})", true},
                    FilterCase{R"({"a": {"%type": ["int", "null"]}})", R"({})", false},
                    FilterCase{R"({"a": {"%type": -1}})", R"({"a": {"$minKey": 1}})", true},
                    FilterCase{R"({"a": {"$regularExpression": {"pattern": "B", "options": "i"}}})", R"({"a": "abc"})",
                               true},
                    FilterCase{R"({"a": {"%regex": "^b$", "%options": "m"}})", R"({"a": "a\nb\nc"})", true},
                    FilterCase{R"({"a": {"%options": "x", "%regex": "a b"}})", R"({"a": "ab"})", true},
                    FilterCase{R"({"a": {"%regex": "b"}})", R"({"a": 1})", false},
                    FilterCase{R"({"a": {"%regex": "^.$"}})", R"({"a": "ü"})", true},
                    FilterCase{R"({"a": {"$bitsAllSet": [0, 2]}})", R"({"a": 5})", true},
                    FilterCase{R"({"a": {"$bitsAllSet": 6}})", R"({"a": 5})", false},
                    FilterCase{R"({"a": {"$bitsAnySet": 6}})", R"({"a": 5})", true},
                    FilterCase{R"({"a": {"$bitsAllClear": 2}})", R"({"a": 5})", true},
                    FilterCase{R"({"a": {"$bitsAnyClear": 1}})", R"({"a": 5})", false},
                    FilterCase{R"({"a": {"$bitsAllSet": [200]}})", R"({"a": -1})", true},
                    FilterCase{R"({"a": {"$bitsAllSet": 1}})", R"({"a": 1.5})", false},
                    FilterCase{R"({"a": {"$bitsAllSet": [9]}})",
                               R"({"a": {"$binary": {"base64": "AAI=", "subType": "00"}}})", true},
                    FilterCase{R"({"$alwaysFalse": 1})", R"({})", false},
                    FilterCase{R"({"$expr": {"$gt": ["$a", "$b"]}})", R"({"a": 2, "b": 1})", true},
                    FilterCase{R"({"$expr": {"$gt": ["$a", "$b"]}})", R"({"a": 1, "b": 1})", false},
                    FilterCase{R"({"$comment": "why", "a": 1})", R"({"a": 1})", true}));

struct Refusal {
  const char* filter;
  int code;
  const char* reason;
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.filter; }
class Refusing : public testing::TestWithParam<Refusal> {};

TEST_P(Refusing, NamesTheFault) {
  const auto parsed = parseMatch(json(GetParam().filter), {});
  ASSERT_FALSE(parsed.isOK());
  EXPECT_EQ(GetParam().code, static_cast<int>(parsed.status().code()));
  EXPECT_EQ(GetParam().reason, parsed.status().reason());
}

INSTANTIATE_TEST_SUITE_P(
    Filters, Refusing,
    testing::Values(
        Refusal{R"({"a": {"$foo": 1}})", 2, "unknown operator: $foo"},
        Refusal{R"({"a": {"$gt": 1, "b": 2}})", 2, "unknown operator: b"},
        Refusal{R"({"$foo": 1})", 2,
                "unknown top level operator: $foo. If you have a field name that starts with a '$' symbol, "
                "consider using $getField or $setField."},
        Refusal{R"({"$and": 1})", 2, "$and must be an array"},
        Refusal{R"({"$or": []})", 2, "$and/$or/$nor must be a nonempty array"},
        Refusal{R"({"$or": [1]})", 2, "$or/$and/$nor entries need to be full objects"},
        Refusal{R"({"a": {"$in": 1}})", 2, "$in needs an array"},
        Refusal{R"({"a": {"$nin": 1}})", 2, "$nin needs an array"},
        Refusal{R"({"a": {"$in": [{"$gt": 1}]}})", 2, "cannot nest $ under $in"},
        Refusal{R"({"a": {"$not": 1}})", 2, "$not needs a regex or a document"},
        Refusal{R"({"a": {"$not": {}}})", 2, "$not cannot be empty"},
        Refusal{R"({"a": {"$all": 1}})", 2, "$all needs an array"},
        Refusal{R"({"a": {"$elemMatch": 1}})", 2, "$elemMatch needs an Object"},
        Refusal{R"({"a": {"%regex": 1}})", 2, "$regex has to be a string"},
        Refusal{R"({"a": {"%options": "i"}})", 2, "$options needs a $regex"},
        Refusal{R"({"a": {"%regex": "a", "%options": "q"}})", 51108, " invalid flag in regex options: q"},
        Refusal{R"({"a": {"%type": "foo"}})", 2, "Unknown type name alias: foo"},
        Refusal{R"({"a": {"%type": []}})", 9, "a must match at least one type"},
        Refusal{R"({"a": {"$mod": [0, 1]}})", 2, "divisor cannot be 0"},
        Refusal{R"({"a": {"$mod": [1]}})", 2, "malformed mod, not enough elements"},
        Refusal{R"({"a": {"$size": -1}})", 9, "Failed to parse $size. Expected a non-negative number in: $size: -1"},
        Refusal{R"({"a": {"$elemMatch": {"$expr": true}}})", 2, "$expr can only be applied to the top-level document"},
        Refusal{R"({"$jsonSchema": {"foo": 1}})", 9, "Unknown $jsonSchema keyword: foo"}));

TEST(ParseMatch, RefusesFiltersNestedTooDeeply) {
  bson::Document filter = bson::doc("a", 1);
  for (int i = 0; i < 190; ++i) {
    bson::Builder outer;
    outer.openArray("$and").push(filter).close();
    filter = outer.finish();
  }
  EXPECT_EQ(ErrorCode::kOverflow, parseMatch(filter, {}).status().code());
}

TEST(ParseMatch, TellsWhichElementMatched) {
  const auto index = [](const char* filter, const char* document) {
    MatchDetails details;
    EXPECT_TRUE((*parseMatch(json(filter), {}))->matches(json(document), &details));
    return details.arrayIndex;
  };
  EXPECT_EQ(1, index(R"({"a": 2})", R"({"a": [1, 2]})"));
  EXPECT_EQ(2, index(R"({"a.b": {"$gt": 5}})", R"({"a": [{"b": 1}, {}, {"b": 6}]})"));
  EXPECT_EQ(1, index(R"({"a": {"$elemMatch": {"b": 1}}})", R"({"a": [{"b": 2}, {"b": 1}]})"));
  EXPECT_EQ(-1, index(R"({"a": 2})", R"({"a": 2})"));
}

TEST(ParseMatch, TellsWhenAnExpressionFails) {
  const auto filter = parseMatch(json(R"({"$nor": [{"$expr": {"$divide": ["$a", 0]}}]})"), {});
  ASSERT_TRUE((*filter)->canFail());
  MatchDetails details;
  (*filter)->matches(json(R"({"a": 1})"), &details);
  EXPECT_FALSE(details.error.isOK());
}

TEST(ParseMatch, IsShownInNormalForm) {
  const auto shown = [](const char* filter) { return bson::toRelaxedJson((*parseMatch(json(filter), {}))->toBson()); };
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"a": {"$eq": 1}})")), shown(R"({"a": 1})"));
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"$and": [{"a": {"$gt": 1}}, {"b": {"$not": {"$eq": 2}}}]})")),
            shown(R"({"a": {"$gt": 1}, "b": {"$ne": 2}})"));
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"a": {"$elemMatch": {"b": {"$eq": 1}}}})")),
            shown(R"({"a": {"$elemMatch": {"b": 1}}})"));
  EXPECT_EQ(bson::toRelaxedJson(json(R"({"a": {"$not": {"$exists": true}}})")), shown(R"({"a": {"$exists": false}})"));
  EXPECT_EQ("{ }", shown("{}"));
}

TEST(ParseMatch, WhatIsShownMeansTheSame) {
  const auto document = json(R"({"a": [1, 5], "b": "x"})");
  for (const char* filter : {R"({"a": {"$elemMatch": {"$gt": 4, "$lt": 6}}})", R"({"b": {"$not": {"%regex": "y"}}})",
                             R"({"$nor": [{"a": 7}, {"b": "z"}]})", R"({"a": {"$not": {"$elemMatch": {"$gt": 9}}}})"}) {
    const auto first = std::move(parseMatch(json(filter), {})).value();
    const auto again = parseMatch(first->toBson(), {});
    ASSERT_TRUE(again.isOK()) << bson::toRelaxedJson(first->toBson());
    EXPECT_TRUE(first->matches(document)) << filter;
    EXPECT_TRUE((*again)->matches(document)) << bson::toRelaxedJson(first->toBson());
  }
}

}  // namespace
}  // namespace troupe::query
