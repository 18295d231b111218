#include "actors/server/disk_guard.hpp"

#include "actors/maintenance/disk_watch.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

constexpr int64_t kMiB = int64_t{1} << 20;

class DiskGuardTest : public CommandTest {
 protected:
  DiskGuardTest() {
    server.parameters.diskSpaceReserveMB = 100;
    fill("c", 3);
  }
  void setFree(int64_t mebibytes) {
    server.time->setDiskSpace(DiskSpace{mebibytes * kMiB, 10'000 * kMiB});
    server.disk.look();
  }
  bson::Document firstWriteError(std::string_view command) {
    const bson::Document reply = run(command);
    const auto errors = reply["writeErrors"];
    return errors.is(bson::Type::kArray) ? bson::Document(errors.asArray().first().asDocument()) : bson::Document();
  }
};

TEST_F(DiskGuardTest, RefusesWritesThatAddDataWhileTheReserveIsAllThatIsLeft) {
  setFree(99);
  const auto error = firstWriteError(R"({"insert": "c", "documents": [{"_id": 4}, {"_id": 5}]})");
  EXPECT_TRUE(holds(error, R"({"index": 0, "code": 14031})"_json));
  EXPECT_NE(error["errmsg"].toStringOr().find("99 MiB free"), std::string::npos) << error["errmsg"].toStringOr();
  EXPECT_TRUE(holds(firstWriteError(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"y": 1}}}]})"),
                    R"({"code": 14031})"_json));
  EXPECT_TRUE(holds(
      firstWriteError(R"({"update": "c", "updates": [{"q": {"_id": 7}, "u": {"$set": {"y": 1}}, "upsert": true}]})"),
      R"({"code": 14031})"_json));
  EXPECT_EQ(code(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"y": 1}}})"), 14031);
  EXPECT_EQ(code(R"({"insert": "new", "documents": [{}]})"), 14031);
  EXPECT_EQ(code(R"({"create": "new"})"), 14031);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})"), 14031);
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "new"}]})"), 14031);
  EXPECT_EQ(code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": "new"}}]})"), 14031);
}

TEST_F(DiskGuardTest, AnUnorderedInsertIsRefusedDocumentByDocument) {
  setFree(99);
  const bson::Document reply = run(R"({"insert": "c", "ordered": false, "documents": [{"_id": 4}, {"_id": 5}]})");
  EXPECT_TRUE(
      holds(reply, R"({"n": 0, "writeErrors": [{"index": 0, "code": 14031}, {"index": 1, "code": 14031}]})"_json));
}

TEST_F(DiskGuardTest, ReadsDeletesAndDropsGoOn) {
  setFree(0);
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 3);
  EXPECT_TRUE(answers(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})", R"({"n": 1})"));
  EXPECT_TRUE(succeeds(R"({"findAndModify": "c", "query": {"_id": 2}, "remove": true})"));
  EXPECT_TRUE(succeeds(R"({"drop": "c"})"));
}

TEST_F(DiskGuardTest, WritesComeBackWithSomeSpaceToSpare) {
  setFree(99);
  setFree(110);
  EXPECT_EQ(code(R"({"create": "new"})"), 14031) << "at the edge it would flicker";
  setFree(130);
  EXPECT_EQ(code(R"({"create": "new"})"), 0);
  setFree(110);
  EXPECT_EQ(code(R"({"create": "another"})"), 0);
}

TEST_F(DiskGuardTest, WhatTheSetHasTakenMayUseHalfOfTheReserve) {
  setFree(60);
  EXPECT_EQ(server.disk.roomFor(1).code(), ErrorCode::kOutOfDiskSpace);
  EXPECT_TRUE(server.disk.roomForReplicated(1).isOK());
  setFree(49);
  EXPECT_EQ(server.disk.roomForReplicated(1).code(), ErrorCode::kOutOfDiskSpace);
  setFree(60);
  EXPECT_EQ(server.disk.roomForReplicated(1).code(), ErrorCode::kOutOfDiskSpace) << "at the edge it would flicker";
  setFree(70);
  EXPECT_TRUE(server.disk.roomForReplicated(1).isOK());
  EXPECT_EQ(server.disk.roomFor(1).code(), ErrorCode::kOutOfDiskSpace);
}

TEST_F(DiskGuardTest, WhatIsReplicatedIsCountedToo) {
  setFree(101);
  server.time->setDiskSpace(DiskSpace{10 * kMiB, 10'000 * kMiB});
  EXPECT_TRUE(server.disk.roomForReplicated(1000).isOK());
  EXPECT_EQ(server.disk.roomForReplicated(7 * kMiB).code(), ErrorCode::kOutOfDiskSpace);
}

TEST_F(DiskGuardTest, WhoWritesALotLooksAgainBeforeTheReserveIsGone) {
  setFree(101);
  server.time->setDiskSpace(DiskSpace{50 * kMiB, 10'000 * kMiB});  // as another program would, behind our back
  EXPECT_TRUE(server.disk.roomFor(1000).isOK());
  EXPECT_EQ(server.disk.roomFor(7 * kMiB).code(), ErrorCode::kOutOfDiskSpace);
}

TEST_F(DiskGuardTest, WithoutASizeTheReserveFitsTheDisk) {
  server.parameters.diskSpaceReserveMB = -1;
  setFree(9000);
  EXPECT_EQ(server.disk.reserveBytes(), 512 * kMiB);
  server.time->setDiskSpace(DiskSpace{60 * kMiB, 64 * kMiB});
  server.disk.look();
  EXPECT_EQ(server.disk.reserveBytes(), 64 * kMiB / 3);
  server.time->setDiskSpace(DiskSpace{250 * kMiB, 600 * kMiB});
  server.disk.look();
  EXPECT_EQ(server.disk.reserveBytes(), 96 * kMiB) << "three files of the journal";
  server.time->setDiskSpace(DiskSpace{250 * kMiB, 2000 * kMiB});
  server.disk.look();
  EXPECT_EQ(server.disk.reserveBytes(), 200 * kMiB);
}

TEST_F(DiskGuardTest, AReserveOfZeroNeverRefuses) {
  server.parameters.diskSpaceReserveMB = 0;
  setFree(0);
  EXPECT_EQ(code(R"({"create": "new"})"), 0);
}

TEST_F(DiskGuardTest, TheWatchNoticesByItself) {
  server.time->setDiskSpace(DiskSpace{0, 10'000 * kMiB});
  server.node.advance(1100ms);
  EXPECT_TRUE(server.disk.refusing());
  EXPECT_TRUE(answers(
      R"({"serverStatus": 1})",
      R"({"diskSpace": {"refusingWrites": true, "stopsReplication": true, "timesFull": 1, "freeBytes": 0}})", "admin"));
  server.time->setDiskSpace(DiskSpace{500 * kMiB, 10'000 * kMiB});
  server.node.advance(1100ms);
  EXPECT_EQ(code(R"({"create": "new"})"), 0);
}

}  // namespace troupe::server
