#pragma once
#include <cstdint>
#include <string>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::replication {

/// Path of the cleaner on every member.
inline constexpr const char* kTemporaryCleanerPath = "/node/replication/temporary-cleaner";

/// Asks the cleaner for a round in that term. Answered when the round is over.
struct DropTemporaries {
  int64_t term = 0;
};

/// Drops what the writers of earlier terms have left: temporary collections, of which an $out that met the end of its
/// term is the usual maker (ELE-024). A new primary asks for a round before clients may write, so nothing temporary is
/// in use. A collection that cannot be dropped is logged and stays: it takes room, and does no harm.
class TemporaryCleaner final : public Actor {
 public:
  /// `server` outlives it.
  explicit TemporaryCleaner(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  bson::Document describe() const override { return bson::doc("dropped", dropped_, "lastError", lastError_); }

 private:
  Task<void> clean(int64_t term, Context asker);
  Task<Status> drop(storage::CollectionPtr collection, int64_t term);

  server::ServerContext* server_;
  int64_t dropped_ = 0;
  std::string lastError_;
};

}  // namespace troupe::replication
