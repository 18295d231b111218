#include "test/simulation/schema_changes.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "test/simulation/stormy_set.hpp"

namespace troupe::sim {
namespace {

using checkers::Outcome;

TEST(SchemaChanges, AreTheSameOnAllMembersWhilePrimariesAreKilled) {
  const std::string work =
      "[[workload]]\nkind = \"schema-changes\"\nrate = 8\n[[workload]]\nkind = \"items\"\nrate = 10\n";
  EXPECT_EQ(firstBrokenOfStormySet(work, 3), "");
}

/// One collection, made and changed by hand.
class SchemaChangesTest : public testing::Test {
 protected:
  SchemaChangesTest() {
    changes.learn(made("create"), Outcome::kOk);
    auto indexed = made("createIndexes");
    indexed.after.indexes["a_1"] = false;
    indexed.after.documents = {7};
    changes.learn(indexed, Outcome::kOk);
  }
  static SchemaChanges::Change made(const std::string& kind) {
    SchemaChanges::Change change;
    change.kind = kind;
    change.collection = "ddl1";
    change.after.isThere = true;
    return change;
  }
  /// `row`: of the catalog, besides that of test.items; empty: there is none. `documents`: of the collection.
  std::string compare(const std::string& row, std::vector<bson::Document> documents = {bson::doc("_id", 7)}) const {
    std::vector<bson::Document> catalog{bson::fromJson(R"({"_id": "items", "options": {}, "indexes": []})").value()};
    if (!row.empty()) catalog.push_back(bson::fromJson(row).value());
    return changes.compare(catalog, {{"test.ddl1", std::move(documents)}});
  }
  static std::string row(const std::string& indexes, const std::string& level = "strict") {
    return R"({"_id": "ddl1", "options": {"validationLevel": ")" + level + R"("}, "indexes": [{"name": "_id_"})" +
           indexes + "]}";
  }

  SchemaChanges changes;
  const std::string whole = row(R"(, {"name": "a_1"})");
};

TEST_F(SchemaChangesTest, WhatWasAcknowledgedIsThere) { EXPECT_EQ(compare(whole), ""); }

TEST_F(SchemaChangesTest, WhatIsLostIsFound) {
  EXPECT_NE(compare("").find("was made and is not there"), std::string::npos);
  EXPECT_NE(compare(row("")).find("index a_1 was made"), std::string::npos);
  EXPECT_NE(compare(row(R"(, {"name": "a_1", "hidden": true})")).find("not as it was changed"), std::string::npos);
  EXPECT_NE(compare(row(R"(, {"name": "a_1"})", "off")).find("validation"), std::string::npos);
  EXPECT_NE(compare(whole, {}).find("0 documents"), std::string::npos);
}

TEST_F(SchemaChangesTest, WhatIsBackIsFound) {
  EXPECT_NE(compare(row(R"(, {"name": "a_1"}, {"name": "b_1"})")).find("b_1 was dropped"), std::string::npos);
  auto drop = made("drop");
  drop.after = {};
  changes.learn(drop, Outcome::kOk);
  EXPECT_EQ(compare(""), "");
  EXPECT_NE(compare(whole).find("dropped or renamed and is there"), std::string::npos);
}

TEST_F(SchemaChangesTest, ARenameMovesWhatIsKnown) {
  auto rename = made("renameCollection");
  rename.after.indexes["a_1"] = false;
  rename.renamedTo = "ddl2";
  changes.learn(rename, Outcome::kOk);
  EXPECT_NE(compare(whole).find("ddl1 was dropped or renamed"), std::string::npos);
  EXPECT_NE(compare("").find("ddl2 was made and is not there"), std::string::npos);
}

TEST_F(SchemaChangesTest, OfAChangeWithoutAnAnswerNothingIsKnown) {
  changes.learn(made("drop"), Outcome::kUnknown);
  EXPECT_EQ(compare(""), "");
  EXPECT_EQ(compare(whole), "");
}

TEST_F(SchemaChangesTest, ACollectionThatNobodyMadeIsFound) {
  EXPECT_NE(compare(R"({"_id": "ddl9", "indexes": []})").find("ddl1"), std::string::npos);
  changes.learn(made("drop"), Outcome::kUnknown);
  EXPECT_NE(compare(R"({"_id": "ddl9", "indexes": []})").find("nobody made the collection ddl9"), std::string::npos);
}

}  // namespace
}  // namespace troupe::sim
