#include "storage/oplog/oplog_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "storage/oplog/logged_command.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;

/// Makes stretches of the log entry by entry; the n-th has the time n, in the second n of its writer's clock.
class StretchMaker {
 public:
  static bson::Uuid collection(uint8_t number) {
    bson::Uuid uuid;
    uuid.bytes[0] = number;
    return uuid;
  }
  StretchMaker& insert(uint8_t in, const bson::Document& document) {
    return add({.kind = OplogKind::kInsert, .ns = "test.c", .uuid = collection(in), .object = document});
  }
  StretchMaker& update(uint8_t in, const bson::Document& id, int value) {
    const auto delta = doc("$v", 2, "diff", doc("u", doc("a", value)));
    return add({.kind = OplogKind::kUpdate, .ns = "test.c", .uuid = collection(in), .object = delta, .other = id});
  }
  StretchMaker& remove(uint8_t in, const bson::Document& id) {
    return add({.kind = OplogKind::kRemove, .ns = "test.c", .uuid = collection(in), .object = id});
  }
  StretchMaker& note() {
    const auto what = doc("msg", "a note");
    return add({.kind = OplogKind::kNoop, .ns = "", .object = what});
  }
  StretchMaker& command(const LoggedCommand& command) {
    const CommandObjects objects = encode(command);
    return add({.kind = OplogKind::kCommand, .ns = "test.$cmd", .uuid = collection(1), .object = objects.object});
  }
  StretchMaker& group() { return command(LoggedGroup{}); }

  OplogStretch make() const {
    auto stretch = OplogStretch::parse(documents_);
    EXPECT_TRUE(stretch.isOK()) << stretch.status().toString();
    return std::move(*stretch);
  }
  const std::vector<bson::Document>& documents() const { return documents_; }

 private:
  StretchMaker& add(const LoggedOperation& operation) {
    const auto number = static_cast<uint32_t>(documents_.size() + 1);
    OplogEntry entry;
    entry.operation = operation;
    entry.opTime = {1, {number, 1}};
    entry.wall = {int64_t{number} * 1000};
    documents_.push_back(entry.toDocument());
    return *this;
  }
  std::vector<bson::Document> documents_;
};

namespace {

CollectionTraits plain(const bson::Uuid&) { return {}; }

/// Lengths of the batches of the whole stretch.
std::vector<size_t> batchesOf(const OplogStretch& stretch, const BatchLimits& limits) {
  std::vector<size_t> lengths;
  for (size_t from = 0; from < stretch.size(); from += lengths.back()) {
    lengths.push_back(nextBatch(stretch, from, limits));
    if (lengths.back() == 0) break;
  }
  return lengths;
}

}  // namespace

TEST(OplogStretchTest, AnEntryThatCannotBeReadIsNamed) {
  auto documents = StretchMaker().insert(1, doc("_id", 1)).insert(1, doc("_id", 2)).documents();
  documents[1] = doc("ts", bson::Timestamp{2, 1}, "strange", 1);
  const auto stretch = OplogStretch::parse(std::move(documents));
  EXPECT_EQ(stretch.status().code(), ErrorCode::kFailedToParse);
  EXPECT_THAT(stretch.status().reason(), ::testing::HasSubstr("Timestamp(2, 1)"));
}

TEST(NextBatchTest, EntriesAreTakenUpToTheLimits) {
  const OplogStretch stretch =
      StretchMaker().insert(1, doc("_id", 1)).insert(1, doc("_id", 2)).insert(1, doc("_id", 3)).make();
  EXPECT_THAT(batchesOf(stretch, {}), ElementsAre(3));
  EXPECT_THAT(batchesOf(stretch, {.maxEntries = 2}), ElementsAre(2, 1));
  const size_t bytes = stretch.documents[0].bytes().size();
  EXPECT_THAT(batchesOf(stretch, {.maxBytes = 2 * bytes}), ElementsAre(2, 1));
  EXPECT_THAT(batchesOf(stretch, {.maxBytes = 2 * bytes - 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(batchesOf(stretch, {.maxBytes = 1}), ElementsAre(1, 1, 1)) << "one at least";
}

// REP-021.
TEST(NextBatchTest, CommandsAndGroupsAreAlone) {
  const OplogStretch stretch = StretchMaker()
                                   .insert(1, doc("_id", 1))
                                   .note()
                                   .command(LoggedTruncate{"c"})
                                   .command(LoggedTruncate{"c"})
                                   .insert(1, doc("_id", 1))
                                   .group()
                                   .make();
  EXPECT_THAT(batchesOf(stretch, {}), ElementsAre(2, 1, 1, 1, 1));
}

TEST(NextBatchTest, ADelayedMemberLeavesWhatIsTooYoung) {
  const OplogStretch stretch =
      StretchMaker().insert(1, doc("_id", 1)).insert(1, doc("_id", 2)).command(LoggedTruncate{"c"}).make();
  EXPECT_EQ(nextBatch(stretch, 0, {}, bson::Date{999}), 0u);
  EXPECT_EQ(nextBatch(stretch, 0, {}, bson::Date{1000}), 1u);
  EXPECT_EQ(nextBatch(stretch, 0, {}, bson::Date{5000}), 2u);
  EXPECT_EQ(nextBatch(stretch, 2, {}, bson::Date{2999}), 0u) << "a command too";
  EXPECT_EQ(nextBatch(stretch, 2, {}, bson::Date{3000}), 1u);
}

TEST(SpreadTest, EqualIdsAreOfOneDocument) {
  const OplogStretch stretch = StretchMaker()
                                   .insert(1, doc("_id", 1))
                                   .remove(1, doc("_id", 1.0))
                                   .update(1, doc("_id", int64_t{1}), 5)
                                   .insert(1, doc("_id", "Ab"))
                                   .remove(1, doc("_id", "aB"))
                                   .make();
  std::shared_ptr<const bson::Collator> loose = *bson::Collator::parse(doc("locale", "en", "strength", 2));
  for (size_t writers = 1; writers < 60; ++writers) {
    const auto shares =
        spread(stretch.entries, writers, [&](const bson::Uuid&) { return CollectionTraits{.collator = loose}; });
    for (const auto& share : shares) {
      const auto has = [&](size_t i) { return std::ranges::find(share, &stretch.entries[i]) != share.end(); };
      EXPECT_EQ(has(0), has(1)) << writers;
      EXPECT_EQ(has(0), has(2)) << writers;
      EXPECT_EQ(has(3), has(4)) << writers;
    }
  }
}

/// Ids that a client counts differ in a few bits of their last byte.
TEST(SpreadTest, DocumentsWithConsecutiveIdsAreSpreadEvenly) {
  StretchMaker maker;
  for (int id = 1024; id < 1144; ++id) maker.insert(1, doc("_id", id));
  const OplogStretch stretch = maker.make();
  for (size_t writers = 2; writers <= 8; ++writers)
    for (const auto& share : spread(stretch.entries, writers, plain))
      EXPECT_THAT(share.size() * writers, AllOf(Gt(60u), Lt(240u))) << writers;
}

TEST(SpreadTest, NotesChangeNoDocument) {
  const OplogStretch stretch = StretchMaker().note().note().make();
  for (const auto& share : spread(stretch.entries, 3, plain)) EXPECT_THAT(share, IsEmpty());
}

// REP-022.
TEST(SpreadTest, InsertsOfOneCollectionStandTogetherAlsoWhereAnotherIsWrittenInBetween) {
  const OplogStretch stretch =
      StretchMaker().insert(1, doc("_id", 1)).insert(2, doc("_id", 1)).insert(1, doc("_id", 2)).make();
  const auto shares = spread(stretch.entries, 1, plain);
  EXPECT_THAT(shares[0], ElementsAre(&stretch.entries[0], &stretch.entries[2], &stretch.entries[1]));
}

/// Random entries of few documents in few collections, of which the third is capped.
class RandomSpreadTest : public ::testing::Test {
 protected:
  static constexpr uint8_t kCapped = 3;

  OplogStretch anyStretch() {
    StretchMaker maker;
    for (auto left = chance() % 200; left > 0; --left) {
      const auto in = static_cast<uint8_t>(1 + chance() % 4);
      const auto id = doc("_id", static_cast<int>(chance() % 12));
      const auto kind = chance() % 10;
      if (kind < 5) maker.insert(in, id);
      else if (kind < 8) maker.update(in, id, static_cast<int>(chance() % 100));
      else if (kind < 9) maker.remove(in, id);
      else maker.note();
    }
    return maker.make();
  }
  static std::string documentOf(const OplogEntry& entry) {
    const auto& operation = entry.operation;
    const bson::View named = operation.kind == OplogKind::kUpdate ? *operation.other : operation.object;
    const bool isCapped = operation.uuid == StretchMaker::collection(kCapped);
    return operation.uuid->toString() + (isCapped ? "" : std::to_string(named["_id"].asInt32()));
  }

  std::mt19937_64 chance{11};
};

// REP-020.
TEST_F(RandomSpreadTest, EachEntryHasOneWriterAndThoseOfADocumentOrACappedCollectionTheSameOneInOrder) {
  size_t busy = 0;
  for (int round = 0; round < 300; ++round) {
    const OplogStretch stretch = anyStretch();
    const size_t writers = 1 + chance() % 8;
    const auto shares = spread(stretch.entries, writers, [&](const bson::Uuid& uuid) {
      return CollectionTraits{.isCapped = uuid == StretchMaker::collection(kCapped)};
    });
    ASSERT_EQ(shares.size(), writers);
    std::map<std::string, std::pair<size_t, const OplogEntry*>> last;  // by document: its writer and newest entry
    std::set<const OplogEntry*> seen;
    for (size_t writer = 0; writer < writers; ++writer) {
      if (!shares[writer].empty()) ++busy;
      for (const OplogEntry* entry : shares[writer]) {
        ASSERT_TRUE(seen.insert(entry).second) << "an entry has one writer";
        const auto [known, isNew] = last.try_emplace(documentOf(*entry), writer, entry);
        ASSERT_EQ(known->second.first, writer) << "round " << round << ": " << documentOf(*entry);
        ASSERT_LE(known->second.second, entry) << "in the order of the log";
        known->second.second = entry;
      }
    }
    const auto isNote = [](const OplogEntry& entry) { return entry.operation.kind == OplogKind::kNoop; };
    ASSERT_EQ(seen.size() + static_cast<size_t>(std::ranges::count_if(stretch.entries, isNote)), stretch.size());
  }
  EXPECT_GT(busy, 600u) << "the work is spread";
}

TEST_F(RandomSpreadTest, AWritersEntriesOfACollectionAreNotInterrupted) {
  for (int round = 0; round < 100; ++round) {
    const OplogStretch stretch = anyStretch();
    for (const auto& share : spread(stretch.entries, 1 + chance() % 5, plain)) {
      std::set<bson::Uuid> begun;
      for (size_t i = 0; i < share.size(); ++i) {
        if (i > 0 && share[i]->operation.uuid == share[i - 1]->operation.uuid) continue;
        ASSERT_TRUE(begun.insert(*share[i]->operation.uuid).second) << "round " << round;
      }
    }
  }
}

}  // namespace troupe::storage
