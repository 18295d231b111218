#include "actors/machines/document_removals.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/machines/errand_server.hpp"

namespace troupe::machines::test {
namespace {

using DocumentRemovalsTest = ErrandServer;

TEST_F(DocumentRemovalsTest, ADeleteEndsTheInstanceOfItsDocument) {
  const auto waiter = start("a", true);
  start("b");
  ASSERT_EQ(phaseOf("a"), "asking");
  EXPECT_TRUE(answers(R"({"delete": "errands", "deletes": [{"q": {"_id": "a"}, "limit": 1}]})", R"({"ok": 1, "n": 1})",
                      "config"));
  settle();
  EXPECT_EQ(phaseOf("a"), "none");
  EXPECT_EQ(phaseOf("b"), "asking") << "the others go on";
  ASSERT_TRUE(waiter->answer);
  EXPECT_EQ(waiter->answer->status().code(), ErrorCode::kInterrupted);
  ASSERT_TRUE(start("a")->answer->isOK()) << "and it may be started again";
  EXPECT_EQ(phaseOf("a"), "asking");
}

TEST_F(DocumentRemovalsTest, WhatRemovesTheWholeCollectionEndsThemAll) {
  for (const char* command : {R"({"drop": "errands"})", R"({"dropDatabase": 1})"}) {
    start("a"), start("b");
    ASSERT_EQ(phaseOf("b"), "asking") << command;
    EXPECT_TRUE(succeeds(command, "config"));
    settle();
    EXPECT_EQ(phaseOf("a"), "none") << command;
    EXPECT_EQ(phaseOf("b"), "none") << command;
  }
  start("a");
  EXPECT_TRUE(succeeds(R"({"renameCollection": "config.errands", "to": "config.other"})", "admin"));
  settle();
  EXPECT_EQ(phaseOf("a"), "none");
}

TEST_F(DocumentRemovalsTest, AnInstanceThatRemovesItsDocumentItselfHasComeToItsEnd) {
  peer->agrees = true;
  const auto waiter = start("a", true);
  ASSERT_EQ(phaseOf("a"), "telling");
  server.node.tell(service, local(Nudge{"a", 1}));
  settle();
  ASSERT_TRUE(waiter->answer);
  EXPECT_TRUE(waiter->answer->isOK()) << waiter->answer->status().toString();
}

TEST_F(DocumentRemovalsTest, WhatIsWrittenElsewhereOrOnlyChangedEndsNobody) {
  start("a");
  EXPECT_TRUE(succeeds(R"({"insert": "errands", "documents": [{"_id": "a"}]})", "test"));
  EXPECT_TRUE(succeeds(R"({"delete": "errands", "deletes": [{"q": {}, "limit": 0}]})", "test"));
  EXPECT_TRUE(
      succeeds(R"({"update": "errands", "updates": [{"q": {"_id": "a"}, "u": {"$set": {"note": 1}}}]})", "config"));
  settle();
  EXPECT_EQ(phaseOf("a"), "asking");
  EXPECT_EQ(peer->asked, 1) << "it was not even begun again";
}

/// The collection was there before the service.
class DocumentRemovalsAfterARestart : public ErrandServer {
 protected:
  DocumentRemovalsAfterARestart() : ErrandServer(diskWithAnErrand()) {}
  static storage::DeterministicDisk diskWithAnErrand() {
    CommandNode before;
    before.run(bson::fromJson(R"({"insert": "errands", "writeConcern": {"j": true},
        "documents": [{"_id": "a", "version": 1, "sum": 0, "phase": "asking"}]})")
                   .value(),
               "config");
    return before.engine->disk();
  }
};

TEST_F(DocumentRemovalsAfterARestart, EndsAnInstanceThatWasRebuiltFromItsDocument) {
  ASSERT_EQ(phaseOf("a"), "asking");
  EXPECT_TRUE(succeeds(R"({"delete": "errands", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  settle();
  EXPECT_EQ(phaseOf("a"), "none");
}

}  // namespace
}  // namespace troupe::machines::test
