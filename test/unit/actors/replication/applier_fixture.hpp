#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "test/unit/actors/replication/follower.hpp"
#include "test/unit/storage/oplog/primary_fixture.hpp"

namespace troupe::replication {

using storage::StorageUnderTest;

/// The test is the primary; followers apply its log.
class OplogApplierTest : public storage::PrimaryFixture {
 protected:
  storage::NodeContents contents() { return {*catalog, *pool}; }
  void update(int id, const char* field, int value) {
    const auto done = inUnit([&]() -> Status {
      const bson::Value key(id);
      TROUPE_ASSIGN(const auto at, current()->findById(rec(), key.element()));
      bson::Document before;
      TROUPE_TRY(current()->find(rec(), *at, [&](bson::View found) { before = bson::Document(found); }).status());
      return current()->update(rec(), *at, before, bson::doc("_id", id, field, value));
    });
    ASSERT_TRUE(done.isOK()) << done.toString();
  }
  /// With test.c, which is older than the log.
  std::unique_ptr<Follower> follow(const Follower::Options& options = {}) {
    auto follower = std::make_unique<Follower>(options);
    EXPECT_TRUE(follower->data.make(*current()));
    follower->startApplier();
    follower->node->run();
    return follower;
  }
  /// Those of the log from an index on.
  std::vector<bson::Document> logFrom(size_t first) {
    const auto entries = log();
    return {entries.begin() + static_cast<ptrdiff_t>(first), entries.end()};
  }
  static OpTime opTimeOf(const bson::Document& entry) { return {entry["t"].asInt64(), entry["ts"].asTimestamp()}; }
  static std::string phaseOf(Follower& follower) {
    const auto rows = follower.node->registry().rows({.type = "OplogApplier"});
    return rows.empty() ? "none" : rows.front().phase;
  }
};

/// An update of a document of test.c that is not committed, over which no other is written. Ends with its life.
class OpenUpdate {
 public:
  OpenUpdate(Follower& member, int id)
      : operation_({.sessions = *member.data.pool}, storage::OperationOrigin::kApplier) {
    operation_.setWriteMode(storage::WriteMode::kApplied);
    operation_.setAppliedTime(bson::Timestamp{2000, 1});
    work_.emplace(operation_.recoveryUnit());
    const bson::Value key(id);
    const auto collection = member.data.current();
    const auto at = collection->findById(operation_.recoveryUnit(), key.element());
    EXPECT_TRUE(
        collection->update(operation_.recoveryUnit(), **at, bson::doc("_id", id), bson::doc("_id", id, "b", 1)).isOK());
  }

 private:
  storage::OperationContext operation_;
  std::optional<storage::WriteUnitOfWork> work_;
};

}  // namespace troupe::replication
