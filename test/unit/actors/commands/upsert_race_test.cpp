// Upserts that find no document, and then one of their key in their way.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Makes inserts fail as if another operation had been faster.
class FasterOnes final : public storage::WriteObserver {
 public:
  bool observes(const storage::CatalogEntry& entry) const override { return entry.ns.db() == "test"; }
  Status onInsert(storage::RecoveryUnit&, const storage::Collection&, const storage::InsertOperation&) override {
    ++inserts;
    if (left == 0) return Status::OK();
    --left;
    return {ErrorCode::kDuplicateKey, "E11000 duplicate key error", extra};
  }
  void forestall(int times, const bson::Document& keyPattern) {
    left = times;
    inserts = 0;
    extra = bson::doc("keyPattern", keyPattern, "keyValue", bson::Document());
  }
  int left = 0;     ///< how often another one is faster
  int inserts = 0;  ///< that were tried
  bson::Document extra;
};

struct HasFasterOnes {
  FasterOnes faster;
};

}  // namespace

class UpsertRaceTest : private HasFasterOnes, public CommandTest {
 protected:
  UpsertRaceTest() : CommandTest({.observers = {&faster}}) {
    EXPECT_TRUE(succeeds(R"({"create": "c"})"));
    EXPECT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [
        {"key": {"x": 1}, "name": "x_1", "unique": true, "sparse": true},
        {"key": {"a": 1, "b.c": 1}, "name": "ab", "unique": true, "sparse": true},
        {"key": {"s": 1}, "name": "s_1", "unique": true, "sparse": true, "collation": {"locale": "en", "strength": 1}}]})"));
  }
  using HasFasterOnes::faster;

  static std::string upsert(const std::string& filter, const std::string& update) {
    return R"({"update": "c", "updates": [{"q": )" + filter + R"(, "u": )" + update + R"(, "upsert": true}]})";
  }
  /// How many inserts an upsert tries that meets a document of its key twenty times.
  int triesOf(const std::string& filter, const std::string& update, const bson::Document& keyPattern) {
    faster.forestall(20, keyPattern);
    const bson::Document reply = run(upsert(filter, update));
    EXPECT_EQ(reply["writeErrors"].ok(), faster.left > 0) << bson::toRelaxedJson(reply);
    return faster.inserts;
  }
};

TEST_F(UpsertRaceTest, GoesOnAsLongAsItsFilterIsTheKey) {
  EXPECT_EQ(triesOf(R"({"_id": 7})", R"({"$inc": {"n": 1}})", R"({"_id": 1})"_json), 21);
  EXPECT_EQ(triesOf(R"({"x": 7})", R"({"$inc": {"n": 1}})", R"({"x": 1})"_json), 21);
  EXPECT_EQ(triesOf(R"({"b.c": 1, "a": {"$eq": 2}})", R"({"$inc": {"n": 1}})", R"({"a": 1, "b.c": 1})"_json), 21);
}

TEST_F(UpsertRaceTest, AKeyThatIsNotItsFilterIsNoRace) {
  EXPECT_EQ(triesOf(R"({"_id": 7})", R"({"$set": {"x": 1}})", R"({"x": 1})"_json), 1) << "of another field";
  EXPECT_EQ(triesOf(R"({"x": 7})", R"({"$set": {"x": 8}})", R"({"x": 1})"_json), 1) << "of a value that it sets";
}

TEST_F(UpsertRaceTest, ADocumentThatNeedNotMatchIsLookedForAFewTimes) {
  EXPECT_EQ(triesOf(R"({"x": 7, "v": 1})", R"({"$set": {"y": 8}})", R"({"x": 1})"_json), 3)
      << "the other document may be of another version than the filter asks for";
  EXPECT_EQ(triesOf(R"({"x": 7, "v": {"$gt": 1}})", R"({"$set": {"y": 8}})", R"({"x": 1})"_json), 3);
}

TEST_F(UpsertRaceTest, EndsWithTheOtherDocument) {
  faster.forestall(6, R"({"_id": 1})"_json);
  auto waiting = server.begin(parse(upsert(R"({"_id": 7})", R"({"$inc": {"n": 1}})")));
  ASSERT_FALSE(waiting->done) << "after some tries at once it pauses";
  const int left = std::exchange(faster.left, 0);
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 7, "n": 10}]})"));
  faster.left = left;
  for (int steps = 0; !waiting->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), R"({"ok": 1, "n": 1, "nModified": 1})"_json));
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>{R"({ "_id" : 7, "n" : 11 })"});
}

TEST_F(UpsertRaceTest, ADocumentThatDoesNotMatchIsShown) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": 5, "s": "A", "a": 1, "b": {"c": 2}}]})"));
  constexpr const char* kDuplicate = R"({"n": 0, "writeErrors": [{"code": 11000}]})";
  EXPECT_TRUE(answers(upsert(R"({"_id": 2})", R"({"$set": {"x": 5}})"), kDuplicate));
  EXPECT_TRUE(answers(upsert(R"({"x": [5]})", R"({"$set": {"y": 1}})"), kDuplicate));
  EXPECT_TRUE(answers(upsert(R"({"s": "a"})", R"({"$set": {"y": 1}})"), kDuplicate));
  EXPECT_TRUE(answers(upsert(R"({"a": 1, "b.c": 2, "y": 1})", R"({"$set": {"z": 1}})"), kDuplicate));
}

/// However equal its key is: it is shown after a few attempts, not after a thousand.
TEST_F(UpsertRaceTest, ADocumentThatAScanCannotFindIsShown) {
  ASSERT_TRUE(succeeds(R"({"createIndexes": "d", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true},
      {"key": {"b": 1}, "name": "b", "sparse": true}, {"key": {"p.0": 1}, "name": "p", "unique": true}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": 1, "a": 1, "p": [[5, 6]]}]})"));
  const TimePoint began = server.time->now();
  for (const char* upsert : {R"({"q": {"a": 1}, "u": {"$set": {"c": 1}}, "upsert": true, "hint": {"b": 1}})",
                             R"({"q": {"p.0": 5}, "u": {"$set": {"a": 2}}, "upsert": true})"})
    EXPECT_TRUE(answers(R"({"update": "d", "updates": [)" + std::string(upsert) + "]}",
                        R"({"n": 0, "writeErrors": [{"code": 11000}]})"))
        << upsert;
  EXPECT_LT(server.time->now() - began, std::chrono::seconds(1));
}

}  // namespace troupe::commands
