#include "test/checkers/comparison.hpp"

#include <gtest/gtest.h>

namespace troupe::checkers {
namespace {

using bson::doc;

TEST(Comparison, EqualReplicasMayHoldTheirDocumentsInAnyOrder) {
  EXPECT_EQ(compareReplicas(
                {{"n1", {{"a.b", {doc("_id", 1), doc("_id", 2)}}}}, {"n2", {{"a.b", {doc("_id", 2), doc("_id", 1)}}}}})
                .broken,
            "");
}

TEST(Comparison, AReplicaThatLacksADocumentOrACollectionIsFound) {
  EXPECT_EQ(
      compareReplicas({{"n1", {{"a.b", {doc("_id", 1), doc("_id", 2)}}}}, {"n2", {{"a.b", {doc("_id", 1)}}}}}).broken,
      R"(a.b: n1 has { "_id" : 2 }, and n2 has not)");
  EXPECT_EQ(compareReplicas({{"n1", {{"a.b", {}}}}, {"n2", {}}}).broken, "n1 has a collection a.b, and n2 has not");
  EXPECT_EQ(compareReplicas({{"n1", {}}, {"n2", {{"a.b", {}}}}}).broken, "n2 has a collection a.b, and n1 has not");
}

TEST(Comparison, ValuesThatAreEqualAndNotTheSameAreFound) {
  EXPECT_NE(compareReplicas({{"n1", {{"a.b", {doc("_id", 1)}}}}, {"n2", {{"a.b", {doc("_id", 1.0)}}}}}).broken, "");
}

TEST(Comparison, AnIndexThatLostAKeyOrKeptOneIsFound) {
  EXPECT_EQ(compareIndex("x_1", {doc("_id", 1)}, {doc("_id", 1)}).broken, "");
  EXPECT_EQ(compareIndex("x_1", {}, {doc("_id", 1)}).broken,
            R"(the collection has { "_id" : 1 }, and the index x_1 has not)");
  EXPECT_EQ(compareIndex("x_1", {doc("_id", 1), doc("_id", 1)}, {doc("_id", 1)}).broken,
            R"(the index x_1 has { "_id" : 1 }, and the collection has not)");
}

TEST(Comparison, ACountThatIsWrongIsFound) {
  EXPECT_EQ(compareCount("a.b", 1, {doc("_id", 1)}).broken, "");
  EXPECT_EQ(compareCount("a.b", 2, {doc("_id", 1)}).broken, "a.b is counted as 2, and there are 1 documents");
}

}  // namespace
}  // namespace troupe::checkers
