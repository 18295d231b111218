#include "storage/query/update/update.hpp"

#include <gtest/gtest.h>

#include "storage/query/match/match_parser.hpp"
#include "test/unit/storage/query/match/filter_json.hpp"

namespace troupe::query {
namespace {

using bson::Document;

StatusWith<std::unique_ptr<Update>> parse(std::string_view update, std::string_view arrayFilters = "[]") {
  const Document holder = filterJson("{\"u\": " + std::string(update) + ", \"f\": " + std::string(arrayFilters) + "}");
  ParseContext context;
  context.now = {1'600'000'000'000};
  return parseUpdate(holder["u"], holder["f"].asArray(), context);
}

struct Change {
  const char* before;
  const char* update;
  const char* after;  ///< null: nothing changes
  const char* arrayFilters = "[]";
  int64_t matched = -1;
};
void PrintTo(const Change& c, std::ostream* out) { *out << c.update << " of " << c.before; }
class Applying : public testing::TestWithParam<Change> {};

TEST_P(Applying, GivesTheNewDocument) {
  const Document before = filterJson(GetParam().before);
  const auto update = parse(GetParam().update, GetParam().arrayFilters);
  ASSERT_TRUE(update.isOK()) << update.status().toString();
  UpdateInput input;
  input.document = before;
  input.matchedIndex = GetParam().matched;
  const auto result = (*update)->apply(input);
  ASSERT_TRUE(result.isOK()) << result.status().toString();
  const Document expected = filterJson(GetParam().after ? GetParam().after : GetParam().before);
  EXPECT_EQ(bson::toCanonicalJson(expected), bson::toCanonicalJson(result->document));
  EXPECT_EQ(GetParam().after == nullptr, result->noop);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, Applying,
    testing::Values(
        Change{R"({"_id": 1, "a": 1, "z": 0})", R"({"$set": {"a": 2}})", R"({"_id": 1, "a": 2, "z": 0})"},
        Change{R"({"_id": 1, "a": 1})", R"({"$set": {"a": 1}})", nullptr},
        Change{R"({"a": 1})", R"({"$set": {"a": {"$numberLong": "1"}}})", R"({"a": {"$numberLong": "1"}})"},
        Change{R"({"_id": 1})", R"({"$set": {"b": 1, "a": 2, "10": 1, "9": 1}})",
               R"({"_id": 1, "9": 1, "10": 1, "a": 2, "b": 1})"},
        Change{R"({"_id": 1})", R"({"$set": {"a.b.c": 1, "a.b.d": 2}})", R"({"_id": 1, "a": {"b": {"c": 1, "d": 2}}})"},
        Change{R"({"a": {"x": 1, "b": 2, "y": 3}})", R"({"$set": {"a.b": 5}})", R"({"a": {"x": 1, "b": 5, "y": 3}})"},
        Change{R"({"a": 1, "b": 2})", R"({"$unset": {"a": "", "c": ""}})", R"({"b": 2})"},
        Change{R"({"a": 1})", R"({"$unset": {"b.c": ""}})", nullptr},
        Change{R"({"a": 1})", R"({"$unset": {"a.c": ""}})", nullptr},
        Change{R"({"a": 1})", R"({"$inc": {"a": 2, "n": 5}})", R"({"a": 3, "n": 5})"},
        Change{R"({"a": 2147483647})", R"({"$inc": {"a": 1}})", R"({"a": {"$numberLong": "2147483648"}})"},
        Change{R"({"a": 1})", R"({"$inc": {"a": 0.5}})", R"({"a": 1.5})"},
        Change{R"({"a": 1})", R"({"$inc": {"a": 0}})", nullptr},
        Change{R"({"a": 3})", R"({"$mul": {"a": 2, "b": 5}})", R"({"a": 6, "b": 0})"},
        Change{R"({"a": 3})", R"({"$min": {"a": 2, "b": 1}})", R"({"a": 2, "b": 1})"},
        Change{R"({"a": 3})", R"({"$max": {"a": 2}})", nullptr},
        Change{R"({"a": 3})", R"({"$max": {"a": "x"}})", R"({"a": "x"})"},
        Change{R"({"a": 1, "b": 2})", R"({"$rename": {"a": "c.d"}})", R"({"b": 2, "c": {"d": 1}})"},
        Change{R"({"a": 1, "b": 2})", R"({"$rename": {"a": "b"}})", R"({"b": 1})"},
        Change{R"({"b": 2})", R"({"$rename": {"a": "b"}})", nullptr},
        Change{R"({"a": 13})", R"({"$bit": {"a": {"and": 10}, "b": {"or": 3}}})", R"({"a": 8, "b": 3})"},
        Change{R"({})", R"({"$currentDate": {"a": true}})", R"({"a": {"$date": {"$numberLong": "1600000000000"}}})"},
        Change{R"({})", R"({"$currentDate": {"a": {"%type": "timestamp"}}})",
               R"({"a": {"$timestamp": {"t": 1600000000, "i": 1}}})"},
        Change{R"({"a": 1})", R"({"$setOnInsert": {"b": 1, "c.d": 2}})", nullptr},
        Change{R"({"a": 1})", R"({"$set": {}})", nullptr}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, Applying,
    testing::Values(
        Change{R"({"a": [1]})", R"({"$push": {"a": 2, "b": [3]}})", R"({"a": [1, 2], "b": [[3]]})"},
        Change{R"({"a": [3, 1]})", R"({"$push": {"a": {"$each": [2, 5], "$sort": 1, "$slice": -3}}})",
               R"({"a": [2, 3, 5]})"},
        Change{R"({"a": [1, 4]})", R"({"$push": {"a": {"$each": [2, 3], "$position": 1}}})", R"({"a": [1, 2, 3, 4]})"},
        Change{R"({"a": [1, 4]})", R"({"$push": {"a": {"$each": [9], "$position": -1}}})", R"({"a": [1, 9, 4]})"},
        Change{R"({"a": [1, 4]})", R"({"$push": {"a": {"$each": [9], "$slice": 0}}})", R"({"a": []})"},
        Change{R"({"a": [{"s": 2}, {"s": 1}]})", R"({"$push": {"a": {"$each": [{"s": 3}], "$sort": {"s": -1}}}})",
               R"({"a": [{"s": 3}, {"s": 2}, {"s": 1}]})"},
        Change{R"({"a": [1]})", R"({"$addToSet": {"a": {"$each": [1, 2, 2.0]}}})", R"({"a": [1, 2]})"},
        Change{R"({"a": [1]})", R"({"$addToSet": {"a": 1}})", nullptr},
        Change{R"({})", R"({"$addToSet": {"a": [1, 2]}})", R"({"a": [[1, 2]]})"},
        Change{R"({"a": [1, 2, 3, 2]})", R"({"$pull": {"a": 2}})", R"({"a": [1, 3]})"},
        Change{R"({"a": [1, 5, 9]})", R"({"$pull": {"a": {"$gt": 2, "$lt": 7}}})", R"({"a": [1, 9]})"},
        Change{R"({"a": [{"x": 1, "y": 2}, {"x": 2}]})", R"({"$pull": {"a": {"x": 1}}})", R"({"a": [{"x": 2}]})"},
        Change{R"({"a": [{"x": [1, 2]}, {"x": [3]}]})", R"({"$pull": {"a": {"x": {"$elemMatch": {"$gt": 2}}}}})",
               R"({"a": [{"x": [1, 2]}]})"},
        Change{R"({"a": ["x", "y"]})", R"({"$pull": {"a": {"$in": ["x"]}}})", R"({"a": ["y"]})"},
        Change{R"({"a": [1, 2, 3]})", R"({"$pullAll": {"a": [1, 3]}})", R"({"a": [2]})"},
        Change{R"({"a": [1]})", R"({"$pull": {"a": 2, "b": 1}})", nullptr},
        Change{R"({"a": [1, 2, 3]})", R"({"$pop": {"a": 1}})", R"({"a": [1, 2]})"},
        Change{R"({"a": [1, 2, 3]})", R"({"$pop": {"a": -1}})", R"({"a": [2, 3]})"},
        Change{R"({"a": [1, 2]})", R"({"$set": {"a.1": 5, "a.3": 7}})", R"({"a": [1, 5, null, 7]})"},
        Change{R"({"a": [1, 2]})", R"({"$unset": {"a.0": ""}})", R"({"a": [null, 2]})"},
        Change{R"({"a": [{"b": 1}, {"b": 2}]})", R"({"$inc": {"a.1.b": 5}})", R"({"a": [{"b": 1}, {"b": 7}]})"},
        Change{R"({"a": [1, 2, 3]})", R"({"$set": {"a.$": 9}})", R"({"a": [1, 9, 3]})", "[]", 1},
        Change{R"({"a": [{"b": 1}, {"b": 2}]})", R"({"$set": {"a.$.c": 9}})", R"({"a": [{"b": 1, "c": 9}, {"b": 2}]})",
               "[]", 0},
        Change{R"({"a": [1, 2, 3]})", R"({"$inc": {"a.$[]": 1}})", R"({"a": [2, 3, 4]})"},
        Change{R"({"a": [{"b": [1, 2]}, {"b": [3]}]})", R"({"$inc": {"a.$[].b.$[]": 1}})",
               R"({"a": [{"b": [2, 3]}, {"b": [4]}]})"},
        Change{R"({"a": [1, 5, 9]})", R"({"$set": {"a.$[x]": 0}})", R"({"a": [1, 0, 0]})", R"([{"x": {"$gt": 2}}])"},
        Change{R"({"a": [{"b": 1, "c": 1}, {"b": 2}]})", R"({"$set": {"a.$[e].c": 0}})",
               R"({"a": [{"b": 1, "c": 1}, {"b": 2, "c": 0}]})", R"([{"e.b": 2}])"},
        Change{R"({"a": [{"b": 1}]})", R"({"$set": {"a.$[e].c": 0, "a.0.d": 1}})",
               R"({"a": [{"b": 1, "c": 0, "d": 1}]})", R"([{"e.b": 1}])"},
        Change{R"({"a": []})", R"({"$set": {"a.$[]": 1}})", nullptr}));

INSTANTIATE_TEST_SUITE_P(Replacements, Applying,
                         testing::Values(Change{R"({"_id": 1, "a": 1})", R"({"b": 2})", R"({"_id": 1, "b": 2})"},
                                         Change{R"({"_id": 1, "a": 1})", R"({"b": 2, "_id": 1})",
                                                R"({"_id": 1, "b": 2})"},
                                         Change{R"({"_id": 1, "a": 1})", R"({"a": 1})", nullptr},
                                         Change{R"({"_id": 1, "a": 1})", R"({})", R"({"_id": 1})"}));

struct Refusal {
  const char* before;
  const char* update;
  int code;
  const char* reason;
  const char* arrayFilters = "[]";
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.update << " of " << r.before; }
class RefusingUpdates : public testing::TestWithParam<Refusal> {};

TEST_P(RefusingUpdates, NamesTheFault) {
  const Document before = filterJson(GetParam().before);
  const auto update = parse(GetParam().update, GetParam().arrayFilters);
  Status status = update.status();
  if (update.isOK()) {
    UpdateInput input;
    input.document = before;
    status = (*update)->apply(input).status();
  }
  EXPECT_EQ(GetParam().code, static_cast<int>(status.code()));
  EXPECT_EQ(GetParam().reason, status.reason());
}

INSTANTIATE_TEST_SUITE_P(
    Updates, RefusingUpdates,
    testing::Values(
        Refusal{
            "{}", R"({"$foo": {"a": 1}})", 9,
            "Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update specified as an array"},
        Refusal{"{}", R"({"$set": {"a": 1}, "$inc": {"a": 1}})", 40,
                "Updating the path 'a' would create a conflict at 'a'"},
        Refusal{"{}", R"({"$set": {"a": 1, "a.b": 1}})", 40, "Updating the path 'a.b' would create a conflict at 'a'"},
        Refusal{R"({"a": 5})", R"({"$set": {"a.b": 1}})", 28, "Cannot create field 'b' in element {a: 5}"},
        Refusal{R"({"_id": 1})", R"({"$set": {"_id": 2}})", 66,
                "Performing an update on the path '_id' would modify the immutable field '_id'"},
        Refusal{R"({"_id": 1})", R"({"_id": 2})", 66,
                "After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2"},
        Refusal{
            R"({"_id": 1, "a": "x"})", R"({"$inc": {"a": 1}})", 14,
            "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type string"},
        Refusal{"{}", R"({"$inc": {"a": "x"}})", 14, "Cannot increment with non-numeric argument: {a: \"x\"}"},
        Refusal{
            R"({"_id": 1, "a": {"$numberLong": "9223372036854775807"}})", R"({"$inc": {"a": 1}})", 2,
            "Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) for document {_id: 1}"},
        Refusal{R"({"_id": 1, "a": 5})", R"({"$push": {"a": 1}})", 2,
                "The field 'a' must be an array but is of type int in document {_id: 1}"},
        Refusal{R"({"a": 5})", R"({"$pop": {"a": 1}})", 14, "Path 'a' contains an element of non-array type 'int'"},
        Refusal{R"({"a": 5})", R"({"$pull": {"a": 1}})", 2, "Cannot apply $pull to a non-array value"},
        Refusal{"{}", R"({"$set": {"a.": 1}})", 56,
                "The update path 'a.' contains an empty field name, which is not allowed."},
        Refusal{"{}", R"({"$set": {"a.$x": 1}})", 52,
                "The dollar ($) prefixed field '$x' in 'a.$x' is not allowed in the context of an update's replacement "
                "document. "
                "Consider using an aggregation pipeline with $replaceWith."},
        Refusal{R"({"a": [1]})", R"({"$set": {"a.$": 1}})", 2,
                "The positional operator did not find the match needed from the query."},
        Refusal{R"({"a": [1]})", R"({"$set": {"a.$[x]": 1}})", 2,
                "No array filter found for identifier 'x' in path 'a.$[x]'"},
        Refusal{R"({"a": [1]})", R"({"$set": {"b": 1}})", 9,
                R"(The array filter for identifier 'x' was not used in the update { "$set" : { "b" : 1 } })",
                R"([{"x": 1}])"},
        Refusal{R"({"a": 5})", R"({"$set": {"a.$[]": 1}})", 2, "Cannot apply array updates to non-array element a: 5"},
        Refusal{R"({})", R"({"$set": {"a.$[]": 1}})", 2,
                "The path 'a' must exist in the document in order to apply array updates."},
        Refusal{R"({"a": [1]})", R"({"$set": {"a.9999999": 1}})", 34, "can't backfill more than 1500000 elements"},
        Refusal{R"({"a": 1})", R"({"$rename": {"a": "a"}})", 2,
                "The source and target field for $rename must differ: a: \"a\""},
        Refusal{R"({"a": 1})", R"({"$set": 1})", 9,
                "Modifiers operate on fields but we found type int instead. For example: {$mod: {<field>: ...}} not "
                "{$set: 1}"}));

TEST(Update, RefusesADocumentOverTheSizeLimit) {
  const std::string large(9 << 20, 'x');
  const Document update = bson::doc("u", bson::doc("$set", bson::doc("b", large)));
  const Document before = bson::doc("_id", 1, "a", large);
  UpdateInput input;
  input.document = before;
  const auto parsed = parseUpdate(update["u"], {}, {});
  EXPECT_EQ(ErrorCode::kResultTooLarge, (*parsed)->apply(input).status().code());
}

TEST(Upsert, StartsFromTheFiltersEqualities) {
  const auto made = [](const char* filter, const char* update) -> std::string {
    const auto match = parseMatch(filterJson(filter), {});
    const auto parsed = parse(update);
    const auto result = documentForUpsert(**match, **parsed, bson::ObjectId{});
    return result.isOK() ? bson::toRelaxedJson(*result) : result.status().toString();
  };
  const std::string noId = R"({ "_id" : { "$oid" : "000000000000000000000000" })";
  EXPECT_EQ(R"({ "_id" : 7, "a" : 1, "b" : 2 })", made(R"({"a": 1, "_id": 7})", R"({"$set": {"b": 2}})"));
  EXPECT_EQ(noId + R"(, "a" : { "b" : 1, "c" : 2 }, "n" : 1 })",
            made(R"({"a.b": 1, "a.c": {"$in": [2]}, "z": {"$gt": 1}})", R"({"$inc": {"n": 1}})"));
  EXPECT_EQ(R"({ "_id" : 7, "b" : 2 })", made(R"({"a": 1, "_id": 7})", R"({"b": 2})"));
  EXPECT_EQ(noId + R"(, "b" : 1 })", made(R"({"a": {"$ne": 1}})", R"({"$setOnInsert": {"b": 1}})"));
  EXPECT_EQ("NotSingleValueField: cannot infer query fields to set, path 'a' is matched twice",
            made(R"({"$and": [{"a": 1}, {"a": 2}]})", R"({"$set": {"b": 2}})"));
}

}  // namespace
}  // namespace troupe::query
