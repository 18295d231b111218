#pragma once
#include <string>

#include "actors/kernel/actor.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::maintenance {

/// Keeps the oplog within its size, looking once a second: after a start it counts in slices what is there (TRN-004),
/// then truncates the oldest stretch for as long as one has expired (TRN-005). Runs on its own thread.
class OplogTrimmer final : public Actor {
 public:
  /// Both outlive it.
  OplogTrimmer(storage::OplogStore* oplog, storage::OperationServices services) : oplog_(oplog), services_(services) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override {
    return bson::doc("truncated", truncated_, "lastError", lastError_, "markers", oplog_->markers().describe());
  }

 private:
  void trim();
  Status trimOnce();

  storage::OplogStore* oplog_;
  const storage::OperationServices services_;
  bool counted_ = false;
  int64_t truncated_ = 0;
  std::string lastError_;
};

}  // namespace troupe::maintenance
