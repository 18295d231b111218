#pragma once
#include <cstdint>
#include <functional>
#include <utility>

#include "storage/operation/background_gate.hpp"
#include "storage/oplog/oplog_visibility.hpp"
#include "storage/oplog/slot_reserver.hpp"
#include "storage/oplog/write_fence.hpp"

namespace troupe::storage {

/// The two gates of every replicated write (write_slots.hpp): the fence, which knows whether this node may write
/// and in which term, and the reserver, which hands out times. One for a member of a replica set; a node that stands
/// alone has none. Outlives all operations. Any thread.
struct ReplicatedWrites {
  /// `wallSeconds`: the node's clock, seconds since 1970.
  explicit ReplicatedWrites(std::function<uint32_t()> wallSeconds) : slots(std::move(wallSeconds), visibility) {}

  WriteFence fence;
  OplogVisibility visibility;
  SlotReserver slots;
  BackgroundGate background;  ///< closed while a rollback has taken storage down
};

}  // namespace troupe::storage
