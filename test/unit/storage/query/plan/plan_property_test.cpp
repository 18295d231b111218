// With every plan a query finds the same documents as a scan of the collection, in the wanted order.
#include <algorithm>
#include <random>

#include "storage/query/sort/sort_pattern.hpp"
#include "test/unit/storage/query/plan/query_fixture.hpp"

namespace troupe::query {
namespace {

using bson::Document;

/// Small documents, indexes and queries that touch each other often. The same seed gives the same row.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T, size_t N>
  const T& of(const T (&items)[N]) {
    return items[below(static_cast<int>(N))];
  }

  std::string scalar() {
    static const std::string kScalars[] = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "4",
                                           "2.5",
                                           "{\"$numberLong\":\"2\"}",
                                           "{\"$numberDecimal\":\"2.50\"}",
                                           "{\"$numberDouble\":\"NaN\"}",
                                           "{\"$numberDouble\":\"-Infinity\"}",
                                           "null",
                                           "\"a\"",
                                           "\"A\"",
                                           "\"ab\"",
                                           "\"b\"",
                                           "\"\"",
                                           "\"a\\u0000b\"",
                                           "true",
                                           "false",
                                           "{\"$date\":{\"$numberLong\":\"7\"}}",
                                           "{\"$minKey\":1}",
                                           "{\"$maxKey\":1}",
                                           "{\"$undefined\":true}",
                                           "{\"x\":1}",
                                           "{}"};
    return chance(60) ? std::to_string(below(5)) : of(kScalars);
  }
  std::string array(int depth) {
    std::string text = "[";
    for (int n = below(4), i = 0; i < n; ++i) text += (i ? "," : "") + value(depth + 1);
    return text + "]";
  }
  std::string nested(int depth) {
    std::string text = "{";
    if (chance(80)) text += "\"b\":" + value(depth + 1);
    if (chance(50)) text += (text.size() > 1 ? ",\"c\":" : "\"c\":") + value(depth + 1);
    return text + "}";
  }
  std::string value(int depth = 0) {
    const int kind = below(10);
    if (depth < 3 && kind < arrays_) return array(depth);
    if (depth < 3 && kind < arrays_ + 2) return nested(depth);
    return scalar();
  }
  Document document(int id) {
    std::string text = "{\"_id\":" + std::to_string(id);
    for (const char* field : {"a", "b", "c"}) {
      if (chance(80)) text += std::string(",\"") + field + "\":" + value();
    }
    return bson::operator""_json((text + "}").c_str(), text.size() + 1);
  }
  /// How many of ten values are arrays.
  void setArrays(int tenths) { arrays_ = tenths; }

  std::string path() {
    static const std::string kPaths[] = {"a", "a", "b", "c", "a.b", "a.c", "b.c"};
    return of(kPaths);
  }
  std::string condition() {
    static const std::string kCompare[] = {"$eq", "$gt", "$gte", "$lt", "$lte", "$ne", "$eq"};
    const auto nested = [&](const std::string& op) {
      return "{\"" + op + "\":" + (chance(10) ? array(1) : scalar()) + "}";
    };
    switch (below(13)) {
      case 0: return "{\"$in\":[" + scalar() + "," + value(2) + ",3]}";
      case 1: return "{\"$nin\":[" + scalar() + ",1]}";
      case 2: return chance(50) ? "{\"$exists\":true}" : "{\"$exists\":false}";
      case 3:
        return "{\"$exists\":true,\"$type\":\"" +
               std::string(chance(50)   ? "number"
                           : chance(50) ? "string"
                                        : "array") +
               "\"}";
      case 4: return chance(50) ? "{\"$regex\":\"^a\"}" : "{\"$regex\":\"b\"}";
      case 5: return "{\"$not\":{\"" + of(kCompare) + "\":" + scalar() + "}}";
      case 6: return "{\"$elemMatch\":{\"$gte\":" + scalar() + ",\"$lt\":4}}";
      case 7: return "{\"$elemMatch\":{\"b\":" + scalar() + ",\"c\":{\"$gte\":" + scalar() + "}}}";
      case 8: return "{\"$gte\":" + scalar() + ",\"$lte\":" + scalar() + "}";
      case 9: return "{\"$mod\":[2,0]}";
      default: return nested(of(kCompare));
    }
  }
  std::string filterText(int depth = 0) {
    std::string text = "{\"$and\":[";
    const int n = below(4);
    for (int i = 0; i < n; ++i) {
      if (i) text += ",";
      const bool branch = depth < 2 && chance(15);
      if (branch) text += "{\"$or\":[" + filterText(depth + 1) + "," + filterText(depth + 1) + "]}";
      else text += "{\"" + path() + "\":" + condition() + "}";
    }
    return n == 0 ? "{\"b\":{\"$gte\":0}}" : text + "]}";
  }
  Document filter() {
    const std::string text = filterText();
    return bson::operator""_json(text.c_str(), text.size());
  }
  Document index() {
    static const std::string kKeys[] = {"{\"a\":1}",
                                        "{\"a\":-1}",
                                        "{\"a\":1,\"b\":1}",
                                        "{\"a\":1,\"b\":-1}",
                                        "{\"a.b\":1}",
                                        "{\"a.b\":1,\"a.c\":1}",
                                        "{\"b\":1,\"a.b\":-1}",
                                        "{\"b\":-1,\"c\":1,\"a\":1}",
                                        "{\"b\":\"hashed\"}",
                                        "{\"c\":1,\"b\":1}",
                                        "{\"a.b\":-1,\"c\":1}"};
    const std::string& key = of(kKeys);
    std::string text = "{\"key\":" + key + ",\"name\":\"" + std::to_string(++names_) + "\"";
    const int extra = below(8);
    if (extra == 0 && key.find("hashed") == std::string::npos) text += ",\"sparse\":true";
    if (extra == 1) text += ",\"partialFilterExpression\":{\"b\":{\"$gt\":1}}";
    if (extra == 2) text += ",\"partialFilterExpression\":{\"a\":{\"$exists\":true}}";
    if (extra == 3) text += ",\"collation\":{\"locale\":\"en\",\"strength\":2}";
    text += "}";
    return bson::operator""_json(text.c_str(), text.size());
  }
  Document sort() {
    std::string text = "{";
    const std::string first = path(), second = path();
    text += "\"" + first + "\":" + (chance(50) ? "1" : "-1");
    if (chance(50) && second != first) text += ",\"" + second + "\":" + (chance(50) ? "1" : "-1");
    text += "}";
    return bson::operator""_json(text.c_str(), text.size());
  }

 private:
  std::mt19937_64 engine_;
  int arrays_ = 2;
  int names_ = 0;
};

/// Fields in the order of names: covered plans give them in the order of the index.
std::string normalized(const Document& document) {
  std::vector<std::string> fields;
  for (const auto& e : document.view()) fields.push_back(std::string(e.raw()));
  std::sort(fields.begin(), fields.end());
  std::string out;
  for (const auto& field : fields) out += field;
  return out;
}

std::vector<std::string> asSet(const std::vector<Document>& documents) {
  std::vector<std::string> out;
  for (const auto& document : documents) out.push_back(normalized(document));
  std::sort(out.begin(), out.end());
  return out;
}

class PlannedQueries : public QueryFixture, public ::testing::WithParamInterface<int> {
 protected:
  static const Document& natural() {
    static const Document hint = bson::doc("hint", bson::doc("$natural", 1));
    return hint;
  }
  std::vector<std::string> sortKeys(const std::vector<Document>& documents, const Document& sort) {
    const auto pattern = SortPattern::parse(sort, context);
    std::vector<std::string> keys;
    for (const auto& document : documents) keys.push_back(*pattern->key(document));
    return keys;
  }
  void checkFind(Dice& dice, const FindRequest& request, const std::string& what) {
    FindRequest scan = request;
    scan.hint = natural()["hint"];
    const auto expected = run(scan);
    ASSERT_TRUE(expected.isOK()) << what << expected.status().toString();
    const auto found = run(request, dice.chance(30) ? 1 + dice.below(3) : 0);
    ASSERT_TRUE(found.isOK()) << what << found.status().toString();
    ASSERT_EQ(asSet(*found).size(), asSet(*expected).size()) << what;
    ASSERT_EQ(asSet(*found), asSet(*expected)) << what;
  }
  void checkSort(Dice& dice, FindRequest request, const std::string& what) {
    const Document sort = dice.sort();
    request.sort = sort;
    FindRequest scan = request;
    scan.hint = natural()["hint"];
    const auto expected = run(scan);
    if (!expected.isOK()) return;  // parallel arrays
    const auto found = run(request, dice.chance(30) ? 1 + dice.below(3) : 0);
    ASSERT_TRUE(found.isOK()) << what << found.status().toString();
    ASSERT_EQ(asSet(*found), asSet(*expected)) << what << bson::toRelaxedJson(sort);
    ASSERT_EQ(sortKeys(*found, sort), sortKeys(*expected, sort)) << what << bson::toRelaxedJson(sort);
    request.skip = dice.below(3);
    request.limit = 1 + dice.below(5);
    scan.skip = request.skip;
    scan.limit = request.limit;
    ASSERT_EQ(sortKeys(*run(request), sort), sortKeys(*run(scan), sort)) << what << bson::toRelaxedJson(sort);
  }
  void checkCount(const Document& filter, const std::string& what) {
    unit->abandonSnapshot();
    const auto parsed = parseMatch(filter, context);
    FindRequest counting;
    counting.rowsOnly = true;
    auto executor = openScan(collection(), **parsed, counting, *unit, context);
    ASSERT_TRUE(executor.isOK()) << what << executor.status().toString();
    FindRequest scan;
    scan.filter = filter;
    scan.hint = natural()["hint"];
    ASSERT_EQ(drain(**executor)->size(), run(scan)->size()) << what;
  }
  void checkQuery(Dice& dice) {
    const Document filter = dice.filter();
    if (!parseMatch(filter, context).isOK()) return;  // undefined is no operand
    FindRequest request;
    request.filter = filter;
    const std::string what =
        bson::toRelaxedJson(filter) + " by " + bson::toRelaxedJson(planOf(filter)["winningPlan"].asDocument()) + " ";
    checkFind(dice, request, what);
    checkSort(dice, request, what);
    checkCount(filter, what);
    const Document projection = dice.chance(50) ? R"({"a": 1, "b": 1, "_id": 0})"_json : R"({"b": 1, "_id": 0})"_json;
    request.projection = projection;
    checkFind(dice, request, what + "projected ");
  }
};

TEST_P(PlannedQueries, FindWhatAScanFinds) {
  Dice dice(static_cast<uint64_t>(GetParam()));
  create(dice.chance(15) ? R"({"collation": {"locale": "en", "strength": 2}})"_json : Document());
  dice.setArrays(dice.chance(40) ? 0 : 2);
  std::shared_ptr<const bson::Collator> collator = collection()->sharedCollator();
  context.collator = collator.get();
  for (int i = 1 + dice.below(4); i > 0; --i) {
    auto specs = storage::newIndexes(*catalog, *collection(), {dice.index().view()});
    if (!specs.isOK()) continue;
    for (const auto& spec : *specs)
      write([&] { return storage::createEmptyIndex(*catalog, *unit, collection(), spec).status(); });
  }
  for (int id = 0; id < 40; ++id) (void)insert(dice.document(id));  // some have parallel arrays
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) checkQuery(dice);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlannedQueries, ::testing::Range(0, 60));

}  // namespace
}  // namespace troupe::query
