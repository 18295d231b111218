// $out and $merge as writes: validators, options of the target, interruption, what a crash leaves.
#include "actors/server/role_check.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using Lines = std::vector<std::string>;

class OutputTest : public CommandTest {
 protected:
  OutputTest() { fill("c", 3); }
  std::string pipeline(const std::string& stages, const std::string& more = "") const {
    return R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stages + "]" + more + "}";
  }
  Lines names(const std::string& filter = "{}") {
    return batch(R"({"listCollections": 1, "nameOnly": true, "filter": )" + filter + "}");
  }
  Lines temporaries() { return names(R"({"name": {"$regex": "^tmp"}})"); }
  /// An $out that has written everything and stays before it replaces the target.
  std::shared_ptr<Exchange> held(const std::string& command) {
    EXPECT_TRUE(succeeds(R"({"configureFailPoint": "hangOutBeforeReplacing", "mode": "alwaysOn"})", "admin"));
    auto exchange = server.begin(parse(command), "test", server.connect());
    server.node.advance(200ms);
    EXPECT_FALSE(exchange->done);
    return exchange;
  }
  void letGo() { EXPECT_TRUE(succeeds(R"({"configureFailPoint": "hangOutBeforeReplacing", "mode": "off"})", "admin")); }
};

TEST_F(OutputTest, OutKeepsTheOptionsOfItsTarget) {
  ASSERT_TRUE(succeeds(R"({"create": "t", "validator": {"x": {"$gt": 0}}, "validationLevel": "moderate",
                           "validationAction": "error", "collation": {"locale": "en", "strength": 2}})"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "t", "indexes": [{"key": {"x": 1}, "name": "x", "unique": true}]})"));
  const char* options = R"({"listCollections": 1, "filter": {"name": "t"}})";
  const bson::Document before = run(options);
  ASSERT_TRUE(succeeds(pipeline(R"({"$out": "t"})")));
  const bson::Document after = run(options);
  constexpr auto kPath = "cursor.firstBatch.0.options";
  EXPECT_TRUE(after.view().at(kPath).ok() && after.view().at(kPath).identical(before.view().at(kPath)))
      << bson::toRelaxedJson(after);
  EXPECT_EQ(batch(R"({"find": "t", "hint": "x"})").size(), 3u);
  EXPECT_EQ(names(R"({"name": "t"})").size(), 1u);
}

TEST_F(OutputTest, BothPassTheValidatorOfTheTarget) {
  ASSERT_TRUE(succeeds(R"({"create": "t", "validator": {"x": {"$lt": 3}}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "t", "documents": [{"_id": 1, "x": 0}, {"_id": 9, "x": 0}]})"));
  EXPECT_EQ(code(pipeline(R"({"$out": "t"})")), 121);
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 2u) << "the target was replaced";
  EXPECT_EQ(temporaries(), Lines{});
  // Of a batch of $merge only the documents that fail stay out.
  EXPECT_EQ(code(pipeline(R"({"$merge": "t"})")), 121);
  EXPECT_EQ(batch(R"({"find": "t", "sort": {"_id": 1}})"),
            (Lines{R"({ "_id" : 1, "x" : 1 })", R"({ "_id" : 2, "x" : 2 })", R"({ "_id" : 9, "x" : 0 })"}));
  EXPECT_EQ(code(pipeline(R"({"$set": {"x": 5}}, {"$merge": {"into": "t", "whenMatched": "replace"}})")), 121);
  EXPECT_EQ(code(pipeline(R"({"$merge": {"into": "t", "whenMatched": [{"$set": {"x": 7}}]}})")), 121);
}

TEST_F(OutputTest, BothBypassTheValidatorWhereAsked) {
  ASSERT_TRUE(succeeds(R"({"create": "t", "validator": {"x": {"$lt": 0}}})"));
  EXPECT_EQ(code(pipeline(R"({"$merge": "t"})", R"(, "bypassDocumentValidation": false)")), 121);
  EXPECT_TRUE(succeeds(pipeline(R"({"$merge": "t"})", R"(, "bypassDocumentValidation": true)")));
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 3u);
  EXPECT_TRUE(succeeds(pipeline(R"({"$match": {"_id": 1}}, {"$out": "t"})", R"(, "bypassDocumentValidation": true)")));
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 1u);
  EXPECT_TRUE(answers(R"({"insert": "t", "documents": [{"x": 1}]})", R"({"writeErrors": [{"code": 121}]})"));
}

TEST_F(OutputTest, DuplicatesSayWhichKeyTheyHave) {
  ASSERT_TRUE(succeeds(R"({"create": "t"})"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "t", "indexes": [{"key": {"u": 1}, "name": "u", "unique": true}]})"));
  EXPECT_TRUE(answers(pipeline(R"({"$set": {"u": 1}}, {"$out": "t"})"),
                      R"({"ok": 0, "code": 11000, "keyPattern": {"u": 1}, "keyValue": {"u": 1}})"));
  EXPECT_TRUE(answers(pipeline(R"({"$set": {"u": 1}}, {"$merge": "t"})"),
                      R"({"ok": 0, "code": 11000, "keyPattern": {"u": 1}, "keyValue": {"u": 1}})"));
  ASSERT_TRUE(succeeds(R"({"delete": "t", "deletes": [{"q": {}, "limit": 0}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "t", "documents": [{"_id": 2, "old": true}]})"));
  EXPECT_TRUE(answers(pipeline(R"({"$set": {"u": "$_id"}}, {"$merge": {"into": "t", "whenMatched": "fail"}})"),
                      R"({"ok": 0, "code": 11000, "keyPattern": {"_id": 1}, "keyValue": {"_id": 2}})"));
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 3u) << "the others of the batch are inserted";
}

TEST_F(OutputTest, MergeFindsByASparseIndexOnlyWhatIsInIt) {
  ASSERT_TRUE(succeeds(R"({"insert": "t", "documents": [{"_id": 7, "k": "a", "w": "p"}, {"_id": 8, "w": "q"}]})"));
  ASSERT_TRUE(succeeds(R"({"createIndexes": "t",
                           "indexes": [{"key": {"k": 1}, "name": "k", "unique": true, "sparse": true},
                                       {"key": {"w": 1}, "name": "w", "unique": true,
                                        "collation": {"locale": "en", "strength": 2}}]})"));
  EXPECT_TRUE(succeeds(pipeline(R"({"$match": {"_id": 1}}, {"$project": {"_id": 0, "k": "a", "new": "1"}},
                                   {"$merge": {"into": "t", "on": "k"}})")));
  EXPECT_EQ(batch(R"({"find": "t", "filter": {"k": "a"}})"),
            Lines{R"({ "_id" : 7, "k" : "a", "w" : "p", "new" : "1" })"});
  EXPECT_EQ(code(pipeline(R"({"$merge": {"into": "t", "on": "k"}})")), 51132);
  EXPECT_EQ(code(pipeline(R"({"$merge": {"into": "t", "on": "w"}})")), 51183) << "another collation";
  EXPECT_TRUE(succeeds(pipeline(R"({"$match": {"_id": 1}}, {"$project": {"_id": 0, "w": null, "n": "2"}},
                                   {"$merge": {"into": "t", "on": "w"}})",
                                R"(, "collation": {"locale": "en", "strength": 2})")));
}

TEST_F(OutputTest, EmptyTimestampsAreFilled) {
  const char* fill = R"({"$set": {"t": {"$timestamp": {"t": 0, "i": 0}}}})";
  ASSERT_TRUE(succeeds(pipeline(std::string(fill) + R"(, {"$out": "o"})")));
  ASSERT_TRUE(succeeds(pipeline(std::string(fill) + R"(, {"$merge": "m"})")));
  for (const char* find : {R"({"find": "o"})", R"({"find": "m"})"})
    EXPECT_EQ(run(find).view().at("cursor.firstBatch.0.t").asTimestamp().seconds, server.wallMillis() / 1000);
}

TEST_F(OutputTest, AreRefusedWhereTheServerKeepsItsOwn) {
  for (const char* db : {"admin", "config", "local"}) {
    const std::string name = db;
    EXPECT_EQ(code(pipeline(R"({"$out": {"db": ")" + name + R"(", "coll": "t"}})")), 31321) << db;
    EXPECT_EQ(code(pipeline(R"({"$merge": {"into": {"db": ")" + name + R"(", "coll": "t"}}})")), 31320) << db;
  }
}

TEST_F(OutputTest, ATargetThatChangesMeanwhileIsNotReplaced) {
  ASSERT_TRUE(succeeds(R"({"create": "t"})"));
  const auto out = held(pipeline(R"({"$out": "t"})"));
  const auto change = server.begin(parse(R"({"collMod": "t", "validator": {"x": 1}})"));
  server.node.advance(1s);
  ASSERT_TRUE(change->done) << "the lock is given up at yields";
  letGo();
  server.node.advance(1s);
  ASSERT_TRUE(out->done);
  EXPECT_EQ(out->takeReply()["code"].toInt64(), 125);
  EXPECT_EQ(temporaries(), Lines{});
}

TEST_F(OutputTest, AnOutTakesNoIndexOverThatIsBeingBuilt) {
  const auto failPoint = [](const std::string& mode) {
    return R"({"configureFailPoint": "hangIndexBuild", "mode": ")" + mode + R"(", "data": {"phase": "committing"}})";
  };
  ASSERT_TRUE(succeeds(R"({"insert": "t", "documents": [{"_id": 1, "y": 1}, {"_id": 2, "y": 1}]})"));
  ASSERT_TRUE(succeeds(failPoint("alwaysOn"), "admin"));
  const auto build =
      server.begin(parse(R"({"createIndexes": "t", "indexes": [{"key": {"y": 1}, "name": "y_1", "unique": true}]})"),
                   "test", server.connect());
  server.node.advance(200ms);
  ASSERT_FALSE(build->done);
  EXPECT_TRUE(succeeds(pipeline(R"({"$set": {"y": 7}}, {"$out": "t"})"))) << "three documents with one key";
  EXPECT_TRUE(answers(R"({"listIndexes": "t"})", R"({"cursor": {"firstBatch": [{"name": "_id_"}]}})"));
  ASSERT_TRUE(succeeds(failPoint("off"), "admin"));
  server.node.advance(1s);
  ASSERT_TRUE(build->done);
  EXPECT_EQ(build->takeReply()["code"].toInt64(), static_cast<int>(ErrorCode::kIndexBuildAborted));
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 3u);
}

TEST_F(OutputTest, AKilledOutLeavesNothing) {
  fill("t", 1);
  const auto out = held(pipeline(R"({"$out": "t"})"));
  ASSERT_EQ(temporaries().size(), 1u);
  EXPECT_EQ(server::interruptWrites(*server.server).killed, 1);
  server.node.advance(1s);
  ASSERT_TRUE(out->done);
  EXPECT_EQ(out->takeReply()["code"].toInt64(), 11602);
  letGo();
  EXPECT_EQ(temporaries(), Lines{});
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 1u);
}

/// On a node that knows when it has lost the right to write.
class OutputOfAPrimaryTest : public OutputTest {
 protected:
  OutputOfAPrimaryTest() {
    fill("t", 1);
    server.server->operations.replicated = &writes;
    server.storageSessions.setMember(true);
    writes.fence.open(1);
  }
  ~OutputOfAPrimaryTest() override { server.server->operations.replicated = nullptr; }

  storage::ReplicatedWrites writes{[this] { return static_cast<uint32_t>(server.wallMillis() / 1000); }};
};

TEST_F(OutputOfAPrimaryTest, AnOutThatHasLostTheRightToWriteLeavesAMarkedCollection) {
  const auto out = held(pipeline(R"({"$out": "t"})"));
  ASSERT_EQ(temporaries().size(), 1u);
  writes.fence.close([] {});
  EXPECT_EQ(server::interruptWrites(*server.server).killed, 1);
  server.node.advance(1s);
  ASSERT_TRUE(out->done);
  EXPECT_EQ(out->takeReply()["code"].toInt64(), 11602);
  letGo();
  size_t marked = 0;
  for (const auto& collection : server.catalog->snapshot()->collections("test")) marked += collection->options().temp;
  EXPECT_EQ(marked, 1u) << "removing it is a write, too";
  EXPECT_EQ(temporaries().size(), 1u);
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 1u);
  EXPECT_EQ(writes.slots.openReservations(), 0u);
}

TEST_F(OutputTest, ACrashBeforeTheEndLeavesTheTargetAndNoTemporaryCollection) {
  fill("t", 1);
  const auto out = held(pipeline(R"({"$out": "t"})"));
  ASSERT_EQ(temporaries().size(), 1u);
  ASSERT_TRUE(succeeds(R"({"insert": "log", "documents": [{}], "writeConcern": {"j": true}})"));
  CommandNode again({.disk = server.engine->disk()});
  letGo();
  server.node.advance(1s);
  const auto left = again.run(parse(R"({"listCollections": 1, "nameOnly": true})"));
  for (const auto& e : left.view().at("cursor.firstBatch").asArray())
    EXPECT_FALSE(e.asDocument()["name"].toStringOr().starts_with("tmp.")) << bson::toRelaxedJson(left);
  EXPECT_EQ(left.view().at("cursor.firstBatch").asArray().count(), 3);
}

/// Another writer holds the merge up, which gives its locks to the conversion meanwhile.
TEST_F(OutputTest, MergeIsAloneWithATargetThatHasBecomeCapped) {
  ASSERT_TRUE(succeeds(R"({"insert": "t", "documents": [{"_id": 2, "x": 0}]})"));
  const storage::CollectionPtr target = server.catalog->find({"test", "t"});
  auto other = std::make_unique<storage::RecoveryUnit>(server.storageSessions);
  auto work = std::make_unique<storage::WriteUnitOfWork>(*other);
  const auto record = target->findById(*other, bson::doc("_id", 2).view().first());
  ASSERT_TRUE(record.isOK() && *record);
  ASSERT_TRUE(target->update(*other, **record, bson::doc("_id", 2, "x", 0), bson::doc("_id", 2, "x", 9)).isOK());
  const auto merge = server.begin(parse(pipeline(R"({"$merge": "t"})")), "test", server.connect());
  ASSERT_FALSE(merge->done) << "it meets the other writer";
  work.reset();
  other.reset();
  bool isCapped = false;
  const auto conversion = server.begin(parse(R"({"convertToCapped": "t", "size": 4096})"));
  for (int steps = 0; !(merge->done && conversion->done) && steps < 1000; ++steps) {
    if (conversion->done && !merge->done) isCapped = true;
    server.node.advance(1ms);
  }
  EXPECT_TRUE(isCapped) << "the target has become capped beside the merge";
  const auto merged = merge->takeReply();
  EXPECT_TRUE(merged["ok"].truthy()) << bson::toRelaxedJson(merged);
  EXPECT_TRUE(conversion->takeReply()["ok"].truthy());
  EXPECT_EQ(batch(R"({"find": "t"})").size(), 3u);
}

TEST_F(OutputTest, MergeIntoAViewIsRefusedAlsoWhereThereIsNothingToMerge) {
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c"})"));
  EXPECT_EQ(code(pipeline(R"({"$match": {"_id": 99}}, {"$merge": "v"})")), 166);
}

TEST_F(OutputTest, AnInsertIntoACappedCollectionBesideOthersIsABrokenInvariant) {
  ASSERT_TRUE(succeeds(R"({"create": "t", "capped": true, "size": 4096})"));
  storage::OperationContext operation(server.server->operations);
  storage::HeldLock lock(operation, storage::ResourceType::kCollection, "test.t", storage::LockMode::kIX);
  ASSERT_TRUE(operation.tryAdmit(true) && lock.tryAcquire());
  storage::WriteUnitOfWork work(operation.recoveryUnit());
  EXPECT_THROW((void)server.catalog->find({"test", "t"})->insert(operation.recoveryUnit(), bson::doc("_id", 1)),
               BrokenInvariant);
}

TEST_F(OutputTest, AnOutWhoseTemporaryCollectionIsDroppedEndsAtOnce) {
  const auto out = held(pipeline(R"({"$out": {"db": "other", "coll": "t"}})"));
  ASSERT_EQ(batch(R"({"listCollections": 1, "nameOnly": true})", "other").size(), 1u);
  ASSERT_TRUE(succeeds(R"({"dropDatabase": 1})", "other"));
  server.node.advance(200ms);
  ASSERT_TRUE(out->done) << "no conflict that would end";
  EXPECT_EQ(out->takeReply()["code"].toInt64(), 175);
  letGo();
}

}  // namespace troupe::commands
