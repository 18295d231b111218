#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "actors/kernel/actor.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::maintenance {

/// Keeps the oplog within its size, looking once a second: after a start it counts in slices what is there (TRN-004),
/// then truncates the oldest stretch for as long as one has expired (TRN-005), and notes where the log begins. It waits
/// while a rollback has taken storage down. Runs on its own thread.
class OplogTrimmer final : public Actor {
 public:
  /// The time from which on entries are needed, for the replay after a crash; a zero time: all are.
  using Needed = std::function<std::optional<bson::Timestamp>()>;

  /// All outlive it. `needed` may be null: none are.
  OplogTrimmer(storage::OplogStore* oplog, storage::OperationServices services, Needed needed = nullptr)
      : oplog_(oplog), services_(services), needed_(std::move(needed)) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override {
    return bson::doc("truncated", oplog_->figures().truncations, "lastError", lastError_, "markers",
                     oplog_->markers().describe());
  }

 private:
  void trim();
  Status trimOnce();

  storage::OplogStore* oplog_;
  const storage::OperationServices services_;
  const Needed needed_;
  bool counted_ = false;
  std::string lastError_;
};

}  // namespace troupe::maintenance
