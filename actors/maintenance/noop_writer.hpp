#pragma once
#include <cstdint>
#include <string>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/clock/op_time.hpp"

namespace troupe::maintenance {

/// On a primary that has not written for a while (periodicNoopIntervalSecs, writePeriodicNoops): adds a note to the
/// log, so that members, and readers that wait for a time, see that nothing is missing.
class NoopWriter final : public Actor {
 public:
  /// `server` outlives it.
  explicit NoopWriter(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override { return bson::doc("written", written_, "lastError", lastError_); }

 private:
  void look();
  Task<void> write();

  server::ServerContext* server_;
  OpTime seen_;
  bool writing_ = false;
  int64_t written_ = 0;
  std::string lastError_;
};

}  // namespace troupe::maintenance
