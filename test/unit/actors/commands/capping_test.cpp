// convertToCapped, cloneCollectionAsCapped.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using CappingTest = CommandTest;

TEST_F(CappingTest, ConvertedCollectionsKeepDocumentsAndOrder) {
  fill("c", 1200);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 1000000})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": true, "count": 1200, "max": 0, "nindexes": 1})"));
  EXPECT_TRUE(answers(R"({"find": "c", "sort": {"$natural": -1}, "limit": 1, "projection": {"_id": 1}})",
                      R"({"cursor": {"firstBatch": [{"_id": 1200}]}})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1, "nameOnly": true})", R"({"cursor": {"firstBatch": [{"name": "c"}]}})"));
}

TEST_F(CappingTest, OnlyTheNewestDocumentsStayWhenNotAllFit) {
  fill("c", 1000);
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 4096})"));
  const auto stats = run(R"({"collStats": "c"})");
  EXPECT_LE(stats["size"].toInt64(), 4096);
  EXPECT_GT(stats["count"].toInt64(), 0);
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"_id": 1}})", R"({"n": 0})"));
  EXPECT_TRUE(answers(R"({"count": "c", "query": {"_id": 1000}})", R"({"n": 1})"));
}

TEST_F(CappingTest, ClonesLeaveTheirSourceAsItIs) {
  fill("c", 10);
  EXPECT_TRUE(succeeds(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 100000})"));
  EXPECT_TRUE(answers(R"({"collStats": "d"})", R"({"capped": true, "count": 10})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": false, "count": 10})"));
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 100000})"), 48);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "c", "size": 100000})"), 48);
}

TEST_F(CappingTest, OptionsOfTheSourceStay) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "validator": {"x": {"$gt": 0}}, "validationLevel": "moderate",
      "validationAction": "warn", "collation": {"locale": "en", "strength": 2},
      "changeStreamPreAndPostImages": {"enabled": true}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": -1}]})"));
  constexpr const char* kKept = R"({"cursor": {"firstBatch": [{"options": {"capped": true, "size": 8192,
      "validator": {"x": {"$gt": 0}}, "validationLevel": "moderate", "validationAction": "warn",
      "collation": {"locale": "en", "strength": 2}, "changeStreamPreAndPostImages": {"enabled": true}}}]}})";
  EXPECT_TRUE(succeeds(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1, "filter": {"name": "d"}})", kKept));
  EXPECT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"listCollections": 1, "filter": {"name": "c"}})", kKept));
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 1})")) << "what was stored is copied as it is";
}

TEST_F(CappingTest, AValidatorGoesOnRefusingDocuments) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "validator": {"x": {"$gt": 0}}})"));
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"x": -1}]})", R"({"writeErrors": [{"code": 121}]})"));
}

TEST_F(CappingTest, WhatCappedCollectionsCannotHaveGoes) {
  ASSERT_TRUE(succeeds(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
      "expireAfterSeconds": 1000})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})"));
  EXPECT_TRUE(succeeds(R"({"convertToCapped": "c", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": true, "count": 2, "nindexes": 1})"));
  const auto shown = run(R"({"listCollections": 1})");
  const auto options = shown.view().at("cursor.firstBatch.0.options").asDocument();
  EXPECT_FALSE(options["clusteredIndex"].ok());
  EXPECT_FALSE(options["expireAfterSeconds"].ok());

  ASSERT_TRUE(succeeds(R"({"create": "d", "capped": true, "size": 4096, "max": 1})"));
  ASSERT_TRUE(succeeds(R"({"convertToCapped": "d", "size": 8192})"));
  EXPECT_TRUE(answers(R"({"collStats": "d"})", R"({"capped": true, "max": 0})"));
}

TEST_F(CappingTest, SystemCollectionsAreNotReplaced) {
  ASSERT_TRUE(succeeds(R"({"createUser": "u", "pwd": "p", "roles": []})", "admin"));
  EXPECT_EQ(code(R"({"convertToCapped": "system.users", "size": 4096})", "admin"), 20);
  fill("c", 1);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "system.users", "size": 4096})"), 73);
  EXPECT_TRUE(answers(R"({"usersInfo": "u"})", R"({"users": [{"user": "u"}]})", "admin"));
}

TEST_F(CappingTest, BadSourcesAndSizesAreRefused) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c"})"));
  EXPECT_EQ(code(R"({"convertToCapped": "c", "size": 0})"), 72);
  EXPECT_EQ(code(R"({"convertToCapped": "c"})"), 72);
  EXPECT_EQ(code(R"({"convertToCapped": "no", "size": 4096})"), 26);
  EXPECT_EQ(code(R"({"convertToCapped": "v", "size": 4096})"), 166);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "no", "toCollection": "d", "size": 4096})"), 26);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "v", "toCollection": "d", "size": 4096})"), 166);
  EXPECT_EQ(code(R"({"cloneCollectionAsCapped": "c", "toCollection": "v", "size": 4096})"), 166);
  EXPECT_TRUE(answers(R"({"collStats": "c"})", R"({"capped": false, "count": 1})"));
}

}  // namespace troupe::commands
