#pragma once
#include "actors/kernel/actor.hpp"
#include "actors/maintenance/checkpointer.hpp"
#include "actors/server/disk_guard.hpp"

namespace troupe::maintenance {

/// Looks at the disk once a second, so that writes come back when there is space again, and others than this server are
/// noticed. When the disk becomes nearly full it asks for a checkpoint, after which the engine lets old journal files
/// go.
class DiskWatch final : public Actor {
 public:
  DiskWatch(server::DiskGuard* guard, Address checkpointer) : guard_(guard), checkpointer_(std::move(checkpointer)) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  bson::Document describe() const override;

 private:
  void look();

  server::DiskGuard* guard_;
  Address checkpointer_;
  bool full_ = false;
};

}  // namespace troupe::maintenance
