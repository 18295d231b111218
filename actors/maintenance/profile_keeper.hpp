#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/server/profiler.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/log/line_limit.hpp"

namespace troupe::maintenance {

/// Writes what the profiler records into `<database>.system.profile`: a capped collection, made when its first record
/// comes, which each node keeps for itself. Its writes are recorded nowhere. A write that fails is logged and counted;
/// no operation waits for it or hears of it. Runs on its own thread.
class ProfileKeeper final : public Actor {
 public:
  static constexpr int64_t kCollectionBytes = 1024 * 1024;  ///< unless the collection is there with another size
  static constexpr size_t kBatch = 256;                     ///< records of one unit of work, at most

  explicit ProfileKeeper(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  Task<void> writeAll();
  /// The records of one database, in their order.
  Task<Status> write(std::string database, std::vector<bson::Document> records);

  server::ServerContext* const server_;
  bool writing_ = false;
  int64_t written_ = 0, failed_ = 0;
  log::LineLimit failureLines_;
};

}  // namespace troupe::maintenance
