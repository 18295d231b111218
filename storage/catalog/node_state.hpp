#pragma once
#include <cstdint>

namespace troupe::storage {

/// State of the node, besides the catalog, that a reader's set-up must not mix: its role and term. Any thread.
class NodeState {
 public:
  virtual ~NodeState() = default;
  /// Moves with every change of role or term.
  virtual uint64_t version() const = 0;
  /// Whether the node carries out another one's log, batch by batch, instead of writing by itself.
  virtual bool appliesBatches() const = 0;
};

}  // namespace troupe::storage
