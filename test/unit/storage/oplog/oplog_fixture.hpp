#pragma once
#include <memory>
#include <string>
#include <vector>

#include "storage/oplog/oplog_store.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {

/// An oplog on each engine. Times are small numbers, read as seconds.
class OplogFixture : public testing::TestWithParam<EngineKind> {
 protected:
  OplogFixture() : harness_(GetParam().make()) { open(); }

  static bson::Timestamp time(uint32_t seconds) { return {seconds, 0}; }
  static bson::Document entry(uint32_t seconds, size_t padding = 0) {
    return bson::doc("ts", time(seconds), "wall", bson::Date{int64_t{seconds} * 1000}, "o", std::string(padding, 'x'));
  }

  void open() {
    pool_ = std::make_unique<SessionPool>(harness_->engine());
    auto opened = OplogStore::open(harness_->engine(), *pool_, limits_, visibility_);
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    oplog_ = std::move(opened).value();
  }
  void crash() {
    ASSERT_TRUE(harness_->engine().flushLog().isOK());
    oplog_.reset();
    pool_.reset();
    harness_->crash();
    open();
  }

  /// A unit of work that has written entries and can be committed later.
  struct Writer {
    Writer(SessionPool& pool, OplogStore& oplog, const std::vector<uint32_t>& times, size_t padding)
        : unit(pool), work(unit) {
      std::vector<bson::Document> documents;
      std::vector<OplogRow> entries;
      for (const uint32_t seconds : times) documents.push_back(entry(seconds, padding));
      for (size_t i = 0; i < times.size(); ++i)
        entries.push_back({time(times[i]), int64_t{times[i]} * 1000, documents[i]});
      status = oplog.insert(unit, entries);
    }
    RecoveryUnit unit;
    WriteUnitOfWork work;
    Status status;
  };
  std::unique_ptr<Writer> begin(const std::vector<uint32_t>& times, size_t padding = 0) {
    return std::make_unique<Writer>(*pool_, *oplog_, times, padding);
  }
  Status write(const std::vector<uint32_t>& times, size_t padding = 0) {
    const auto writer = begin(times, padding);
    return writer->status.isOK() ? writer->work.commit() : writer->status;
  }
  void writeVisibly(const std::vector<uint32_t>& times, size_t padding = 0) {
    ASSERT_TRUE(write(times, padding).isOK());
    oplog_->visibility().advance(time(times.back()));
  }

  /// The seconds of what a walk gives, "1 2 3".
  std::string walk(bool forward = true) {
    RecoveryUnit unit(*pool_);
    auto cursor = oplog_->cursor(unit, forward);
    EXPECT_TRUE(cursor.isOK()) << cursor.status().toString();
    return rest(*cursor);
  }
  static std::string rest(OplogCursor& cursor) {
    std::string text;
    for (auto found = cursor.next(); found.isOK() && *found; found = cursor.next()) {
      EXPECT_EQ(cursor.entry()["ts"].asTimestamp(), cursor.time());
      text += (text.empty() ? "" : " ") + std::to_string(cursor.time().seconds);
    }
    return text;
  }

  OplogLimits limits_{.maxBytes = 100'000};
  std::unique_ptr<EngineHarness> harness_;
  std::unique_ptr<SessionPool> pool_;
  OplogVisibility visibility_;
  std::unique_ptr<OplogStore> oplog_;
};

}  // namespace troupe::storage
