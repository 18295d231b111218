#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Path of the cleaner on every member.
inline constexpr const char* kTemporaryCleanerPath = "/node/replication/temporary-cleaner";

/// Asks the cleaner for a round in that term. Answered when the round is over.
struct DropTemporaries {
  int64_t term = 0;
};

/// A writer could not drop its temporary collection, the fence being closed by a step-down that was then given back,
/// say. The cleaner tries each second for as long as this member leads.
struct LeftTemporary {
  bson::Uuid collection;
};

/// Drops what the writers of earlier terms have left: temporary collections, of which an $out that met the end of its
/// term is the usual maker (ELE-024). A new primary asks for a round before clients may write, so nothing temporary is
/// in use. A collection that cannot be dropped is logged and tried again each second: until then it takes room, and
/// does no harm. In its own term a primary drops only what its writers have given up (LeftTemporary).
class TemporaryCleaner final : public Actor {
 public:
  /// `server` outlives it.
  explicit TemporaryCleaner(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  bson::Document describe() const override {
    return bson::doc("dropped", dropped_, "left", static_cast<int64_t>(left_.size()), "lastError", lastError_);
  }

 private:
  Task<void> clean(int64_t term, Context asker);
  void tryAgainLater();
  Task<void> cleanLeft();
  /// `again`: a failure is known, and not logged once more.
  Task<bool> discard(const storage::CollectionPtr& collection, int64_t term, bool again);
  Task<Status> drop(storage::CollectionPtr collection, int64_t term);

  server::ServerContext* server_;
  std::set<bson::Uuid> left_;  ///< given up by their writers, or by a round
  bool triesAgain_ = false;
  int64_t dropped_ = 0;
  std::string lastError_;
};

}  // namespace troupe::maintenance
