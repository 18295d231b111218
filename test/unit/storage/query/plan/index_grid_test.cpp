// Every kind of index against every kind of condition and document: an index that lacks documents (sparse, partial), or
// has several keys for one (multikey), finds what the documents themselves say.
#include <algorithm>

#include "test/unit/storage/query/match/filter_json.hpp"
#include "test/unit/storage/query/plan/query_fixture.hpp"

namespace troupe::query {
namespace {

using bson::Document;

/// Extended JSON would take `$type` and `$regex` for notations of its own.
Document parsed(std::string text) {
  for (size_t at = 0; (at = text.find("\"$", at)) != std::string::npos; ++at) text[at + 1] = '%';
  return filterJson(text);
}

/// Conditions on one field that hold for values, for the lack of one, for arrays, or for several of these.
const std::vector<std::string>& conditions() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> out = {R"({"$gt": 0})",          R"({"$gte": 1, "$lt": 3})", R"({"$lte": null})",
                                    R"({"$gte": "x"})",       R"({"$exists": true})",     R"({"$exists": false})",
                                    R"({"$type": "number"})", R"({"$type": "null"})",     R"({"$type": "array"})",
                                    R"({"$size": 0})",        R"({"$size": 1})",          R"({"$regex": "^x"})",
                                    R"({"$mod": [2, 1]})",    R"({"$all": [1]})",         R"({"$all": [null]})"};
    for (const char* value : {"1", "null", R"("x")", "[]", "[1]", "{}", R"({"b": 1})"}) {
      for (const char* name : {"$eq", "$ne", "$gt", "$lte"})
        out.push_back(std::string("{\"") + name + "\": " + value + "}");
    }
    for (const char* values : {"[1, null]", R"([1, "x"])", "[1]", "[null]", "[[], 1]"}) {
      for (const char* name : {"$in", "$nin"}) out.push_back(std::string("{\"") + name + "\": " + values + "}");
    }
    return out;
  }();
  return kAll;
}

/// Each condition as it is, negated, of an element, and of no element.
std::vector<std::string> forms(const std::string& condition) {
  const std::string element = "{\"$elemMatch\": " + condition + "}";
  return {condition, "{\"$not\": " + condition + "}", element, "{\"$not\": " + element + "}"};
}

std::vector<Document> filters() {
  std::vector<Document> out;
  const auto add = [&](const std::string& text) { out.push_back(parsed(text)); };
  for (const auto& condition : conditions()) {
    for (const auto& form : forms(condition)) {
      for (const char* path : {"a", "a.b", "a.0", "c"}) add(std::string("{\"") + path + "\": " + form + "}");
      add("{\"a\": {\"$elemMatch\": {\"b\": " + form + "}}}");
      add("{\"a.b\": " + form + ", \"c\": {\"$gt\": 0}}");
    }
    add("{\"a\": {\"$not\": {\"$elemMatch\": {\"b\": " + condition + "}}}}");
    add("{\"a\": {\"$elemMatch\": {\"b\": " + condition + ", \"c\": {\"$exists\": false}}}}");
    add("{\"a\": {\"$elemMatch\": {\"b\": {\"$elemMatch\": " + condition + "}}}}");
    add("{\"$or\": [{\"a\": " + condition + "}, {\"a.b\": 1}]}");
    add("{\"$nor\": [{\"a\": " + condition + "}]}");
    add("{\"a\": {\"$exists\": true}, \"a.b\": " + condition + "}");
  }
  return out;
}

std::vector<Document> documents(bool arrays) {
  std::vector<std::string> values = {"0",
                                     "1",
                                     "2",
                                     "null",
                                     R"("x")",
                                     "{}",
                                     R"({"b": 1})",
                                     R"({"b": null})",
                                     R"({"c": 1})",
                                     R"({"b": 3, "c": 1})",
                                     R"({"b": {"b": 1}})"};
  if (arrays)
    for (const char* more :
         {"[]", "[1]", "[null]", "[[]]", "[[1]]", "[1, \"x\"]", "[{}]", R"([{"b": 1}])", R"([{"b": null}])",
          R"([{"c": 1}])", R"([{"b": 1}, {"c": 1}])", R"([{"b": []}])", R"([{"b": [1]}])", R"({"b": []})",
          R"({"b": [1, null]})", R"([1, {"b": 2}])", R"([{"b": {"b": 1}}, 5])"})
      values.push_back(more);
  std::vector<Document> out{bson::doc("_id", 0), bson::doc("_id", 1, "c", 1), bson::doc("_id", 2, "c", bson::Null{})};
  int id = 2;
  for (const auto& value : values) {
    for (const char* c : {"", ", \"c\": 1"})
      out.push_back(parsed("{\"_id\": " + std::to_string(++id) + ", \"a\": " + value + c + "}"));
  }
  return out;
}

/// The specifications of indexes: keys, and what makes an index lack documents.
std::vector<std::string> indexKinds() {
  std::vector<std::string> out;
  for (const char* key : {R"({"a": 1})", R"({"a.b": 1})", R"({"a": 1, "c": -1})", R"({"a.b": 1, "a.c": 1})",
                          R"({"c": 1, "a.b": -1})", R"({"a.0": 1})"}) {
    for (const char* option : {"", R"(, "sparse": true)", R"(, "sparse": true, "unique": true)",
                               R"(, "partialFilterExpression": {"a": {"$exists": true}})",
                               R"(, "partialFilterExpression": {"a.b": {"$exists": true}})",
                               R"(, "partialFilterExpression": {"a.b": {"$gt": 0}})",
                               R"(, "partialFilterExpression": {"a": {"$type": "number"}})",
                               R"(, "partialFilterExpression": {"$or": [{"a": 1}, {"c": {"$gte": 1}}]})"})
      out.push_back(std::string("{\"name\": \"i\", \"key\": ") + key + option + "}");
  }
  for (const char* key : {R"({"a": "hashed"})", R"({"a.b": "hashed"})", R"({"c": 1, "a.b": "hashed"})"}) {
    for (const char* option : {"", R"(, "sparse": true)", R"(, "partialFilterExpression": {"a.b": {"$exists": true}})"})
      out.push_back(std::string("{\"name\": \"i\", \"key\": ") + key + option + "}");
  }
  return out;
}

class IndexGrid : public QueryFixture, public ::testing::WithParamInterface<std::string> {
 protected:
  /// The collection with the index and those of the documents that it accepts.
  void set(bool arrays) {
    if (collection()) drop();
    create();
    index(parsed(GetParam()));
    stored_.clear();
    for (auto& document : documents(arrays))
      if (insert(document).isOK()) stored_.push_back(std::move(document));
  }
  static std::vector<int> ids(const std::vector<Document>& documents) {
    std::vector<int> out;
    for (const auto& document : documents) out.push_back(document["_id"].asInt32());
    std::sort(out.begin(), out.end());
    return out;
  }
  void check(const Document& filter) {
    const auto match = parseMatch(filter, context);
    ASSERT_TRUE(match.isOK()) << match.status().toString();
    std::vector<Document> expected;
    for (const auto& document : stored_)
      if ((*match)->matches(document)) expected.push_back(document);
    FindRequest request;
    request.filter = filter;
    const auto executor = open(request);
    ASSERT_TRUE(executor.isOK()) << executor.status().toString();
    const auto found = drain(**executor);
    ASSERT_TRUE(found.isOK()) << found.status().toString();
    const std::string plan = (*executor)->stats().planSummary;
    byIndex_ += plan.find("IXSCAN") != std::string::npos;
    EXPECT_EQ(ids(*found), ids(expected)) << bson::toRelaxedJson(filter) << " by " << plan << " over " << GetParam();
    FindRequest counting;
    counting.rowsOnly = true;
    unit->abandonSnapshot();
    const auto rows = openScan(collection(), **match, counting, *unit, context);
    ASSERT_TRUE(rows.isOK()) << rows.status().toString();
    EXPECT_EQ(drain(**rows)->size(), expected.size()) << "counted " << bson::toRelaxedJson(filter);
  }

  std::vector<Document> stored_;
  int byIndex_ = 0;
};

TEST_P(IndexGrid, FindsWhatTheDocumentsSay) {
  static const std::vector<Document> kFilters = filters();
  const Document spec = parsed(GetParam());
  const bson::Element partial = spec["partialFilterExpression"];  // alone, it is seldom implied
  for (const bool arrays : {false, true}) {
    set(arrays);
    for (const auto& filter : kFilters) {
      check(filter);
      if (partial.ok()) check(bson::doc("$and", std::vector<Document>{Document(partial.asDocument()), filter}));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(byIndex_, 0);  // else the grid says nothing about this kind
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexGrid, ::testing::ValuesIn(indexKinds()));

}  // namespace
}  // namespace troupe::query
