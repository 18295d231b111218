#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/auth/cluster_time_keys.hpp"

namespace troupe::maintenance {

/// Makes the keys that sign cluster times, on the primary of a set whose clients authenticate (CLK-008): planKeys says
/// which. Other members get them from its log. Without authentication nobody needs a signature, and there are no keys.
class KeyManager final : public Actor {
 public:
  /// `server` outlives it.
  explicit KeyManager(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override;

 private:
  void look();
  Task<void> provide();
  /// Makes what is lacking. Gives the time until it is to be looked at again.
  Task<StatusWith<std::chrono::seconds>> provideKeys();
  Task<Status> store(std::vector<auth::SigningKey> keys);
  /// The key that signs now, and up to which cluster time; empty: none does.
  bson::Document signing() const;

  server::ServerContext* const server_;
  bool working_ = false;
  uint64_t seen_ = 0;  ///< version of the keys at the last look
  TimePoint next_{};
  bson::Timestamp renewAt_;  ///< or at this cluster time, which others may move on at any moment
  int64_t made_ = 0;
  std::string lastError_;
};

}  // namespace troupe::maintenance
