// createSearchIndexes, updateSearchIndex, dropSearchIndex and $listSearchIndexes: refused as drivers and tools expect
// it of a deployment without Atlas Search.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr int64_t kUnsupported = 115;
constexpr const char* kSearchRequests[] = {
    R"({"createSearchIndexes": "c", "indexes": [{"name": "s", "definition": {"mappings": {"dynamic": true}}}]})",
    R"({"createSearchIndexes": "c", "indexes": []})",
    R"({"updateSearchIndex": "c", "name": "s", "definition": {}})",
    R"({"dropSearchIndex": "c", "name": "s"})",
    R"({"dropSearchIndex": "c", "id": "648b4ad4d697b73bf9d2e5e1"})",
    R"({"aggregate": "c", "pipeline": [{"$listSearchIndexes": {}}], "cursor": {}})",
    R"({"aggregate": "c", "pipeline": [{"$listSearchIndexes": {"name": "s"}}], "cursor": {"batchSize": 10}})",
    R"({"aggregate": "c", "pipeline": [{"$match": {}}, {"$listSearchIndexes": {}}], "cursor": {}})",
    R"({"aggregate": "c", "pipeline": [{"$facet": {"f": [{"$listSearchIndexes": {}}]}}], "cursor": {}})"};

}  // namespace

class SearchIndexesTest : public CommandTest {};

TEST_F(SearchIndexesTest, AreRefusedWithWhatIsMissingAndWhatToUse) {
  for (const bool isThere : {false, true}) {
    if (isThere) fill("c", 1);
    for (const char* request : kSearchRequests) {
      const bson::Document reply = run(request);
      EXPECT_EQ(reply["code"].toInt64(), kUnsupported) << bson::toRelaxedJson(reply);
      EXPECT_EQ(reply["codeName"].toStringOr(), "CommandNotSupported");
      const std::string message(reply["errmsg"].toStringOr());
      EXPECT_NE(message.find("Atlas"), std::string::npos) << message;
      EXPECT_NE(message.find("Indexes"), std::string::npos) << message;
    }
  }
}

TEST_F(SearchIndexesTest, MakeNoCollection) {
  for (const char* request : kSearchRequests) EXPECT_EQ(code(request), kUnsupported) << request;
  EXPECT_TRUE(answers(R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"));
}

TEST_F(SearchIndexesTest, CheckTheirNamespaceAndArgumentsFirst) {
  EXPECT_EQ(code(R"({"createSearchIndexes": "", "indexes": []})"), 73);
  EXPECT_EQ(code(R"({"dropSearchIndex": 1, "name": "s"})"), 73);
  EXPECT_EQ(code(R"({"createSearchIndexes": "c", "indexes": {}})"), 14);
  EXPECT_EQ(code(R"({"updateSearchIndex": "c", "mappings": {}})"), 40415);
}

TEST_F(SearchIndexesTest, AreNoPartOfTheStableApi) {
  constexpr const char* kStrict = R"(, "apiVersion": "1", "apiStrict": true})";
  for (std::string request : kSearchRequests) {
    request.pop_back();
    EXPECT_EQ(code(request + kStrict), 323) << request;
  }
}

/// Neither primary nor secondary.
class SearchIndexesOfMemberTest : public CommandTest {
 protected:
  SearchIndexesOfMemberTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}
};

TEST_F(SearchIndexesOfMemberTest, AreRefusedInEveryRole) {
  ASSERT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})"), 10107);
  for (const char* request : kSearchRequests) {
    if (std::string_view(request).find("aggregate") != std::string_view::npos) continue;  // reads have their own rules
    EXPECT_EQ(code(request), kUnsupported) << request;
  }
}

}  // namespace troupe::commands
