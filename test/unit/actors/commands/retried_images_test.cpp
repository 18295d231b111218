// What is kept of documents for retries: a findAndModify that is sent twice is answered with the same one.
#include "actors/server/session_catalog.hpp"
#include "storage/sessions/session_record.hpp"
#include "test/unit/actors/commands/retryable_write_fixture.hpp"

namespace troupe::commands {
using namespace server;

TEST_F(RetryableWriteTest, AFindAndModifyAnswersWithTheSameDocument) {  // SES-022
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
  constexpr const char* kUpdate = R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})";
  expectOnce(kUpdate, 1);
  expectOnce(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true,
                 "fields": {"n": 1, "_id": 0}})",
             2);
  expectOnce(
      R"({"findAndModify": "c", "query": {"_id": 7}, "update": {"$inc": {"n": 1}}, "new": true, "upsert": true})", 3);
  expectOnce(R"({"findAndModify": "c", "query": {"_id": 7}, "remove": true})", 4);
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>({R"({ "_id" : 1, "n" : 2 })"}));
  ASSERT_TRUE(send(kUpdate, 5)["ok"].truthy());
  EXPECT_EQ(codeOf(R"({"findAndModify": "c", "query": {"_id": 1}, "remove": true})", 5), kAnotherStatement);
  EXPECT_EQ(codeOf(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true})", 5),
            kAnotherStatement)
      << "the other document was not kept";
  ASSERT_TRUE(succeeds(R"({"delete": "image_collection", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  EXPECT_EQ(codeOf(kUpdate, 5), kIncompleteHistory);
}

/// SES-020, SES-022: both ways may be mixed in one history; each entry is answered in the way in which it was written.
TEST_F(RetryableWriteTest, AFindAndModifyAnswersAlikeWithItsImageInTheLog) {
  constexpr const char* kUpdate = R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})";
  constexpr const char* kNew =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true})";
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2}]})"));
  const auto setAside = [&](const char* value) {
    ASSERT_TRUE(succeeds(
        (std::string(R"({"setParameter": 1, "storeFindAndModifyImagesInSideCollection": )") + value + "}").c_str(),
        "admin"));
  };
  setAside("false");
  expectOnce(kUpdate, 1);
  expectOnce(kNew, 2);
  expectOnce(R"({"findAndModify": "c", "query": {"_id": 2}, "remove": true})", 3);
  EXPECT_TRUE(batch(R"({"find": "image_collection"})", "config").empty());
  const bson::Document classic = send(kNew, 4);
  setAside("true");
  EXPECT_EQ(shown(send(kNew, 4)), shown(classic));
  const bson::Document aside = send(kUpdate, 5);
  EXPECT_EQ(batch(R"({"find": "image_collection"})", "config").size(), 1u);
  setAside("false");
  EXPECT_EQ(shown(send(kUpdate, 5)), shown(aside));
  EXPECT_EQ(codeOf(kNew, 5), kAnotherStatement);
}

/// SES-022: the answer is what the document was then, whatever others have done with it since.
TEST_F(RetryableWriteTest, AFindAndModifyAnswersAlikeWhenTheDocumentHasChangedSince) {
  constexpr const char* kChange =
      R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"n": 99, "by": "another"}}}]})";
  constexpr const char* kRemove = R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})";
  int64_t number = 0;
  for (const char* aside : {"true", "false"}) {
    ASSERT_TRUE(succeeds(
        std::string(R"({"setParameter": 1, "storeFindAndModifyImagesInSideCollection": )") + aside + "}", "admin"));
    for (const char* after : {"true", "false"}) {
      for (const char* meanwhile : {kChange, kRemove}) {
        ASSERT_TRUE(
            succeeds(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "n": 0}, "upsert": true}]})"));
        const std::string command =
            std::string(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": )") +
            after + "}";
        const bson::Document first = send(command, ++number);
        ASSERT_TRUE(succeeds(meanwhile));
        const auto left = batch(R"({"find": "c"})");
        const bson::Document second = send(command, number);
        EXPECT_EQ(retried(second), "0");
        EXPECT_EQ(shown(second), shown(first)) << "new: " << after << ", aside: " << aside << ", " << meanwhile;
        EXPECT_EQ(first.view().at("value.n").toInt64(), after == std::string_view("true") ? 1 : 0);
        EXPECT_EQ(batch(R"({"find": "c"})"), left);
      }
    }
  }
}

TEST_F(RetryableWriteTest, AnImageOfAnotherWriteIsNoAnswer) {  // SES-021
  constexpr const char* kFirst =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "stmtId": 0})";
  constexpr const char* kSecond =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "stmtId": 1})";
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
  ASSERT_TRUE(send(kFirst, 1)["ok"].truthy());
  ASSERT_TRUE(send(kSecond, 1)["ok"].truthy());
  EXPECT_EQ(codeOf(kFirst, 1), kIncompleteHistory) << "a session has one image";
  EXPECT_EQ(retried(send(kSecond, 1)), "1");
  ASSERT_TRUE(succeeds(
      R"({"update": "image_collection", "updates": [{"q": {}, "u": {"$set": {"invalidated": true}}}]})", "config"));
  EXPECT_EQ(codeOf(kSecond, 1), kIncompleteHistory);
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>({R"({ "_id" : 1, "n" : 2 })"}));
}

TEST_F(RetryableWriteTest, RecordedDocumentsAnswerRetries) {  // SES-025
  ASSERT_TRUE(succeeds(R"({"create": "c", "changeStreamPreAndPostImages": {"enabled": true}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
  expectOnce(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true})", 1);
  EXPECT_EQ(batch(R"({"find": "image_collection"})", "config").size(), 1u);
  expectOnce(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})", 2);
  expectOnce(R"({"findAndModify": "c", "query": {"_id": 1}, "remove": true})", 3);
  const auto both =
      batch(R"({"find": "oplog.rs", "filter": {"preImageOpTime": {"$exists": true}, "needsRetryImage": "postImage"}})",
            "local");
  EXPECT_EQ(both.size(), 1u);
  EXPECT_EQ(batch(R"({"find": "oplog.rs", "filter": {"op": "n", "ns": "test.c"}})", "local").size(), 3u);
}

}  // namespace troupe::commands
