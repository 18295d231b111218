#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "actors/kernel/node.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::machines {

class DocumentRemovals;

/// Parts of the node that stores of state documents use; all of it outlives them.
struct StorageAccess {
  Node& node;
  storage::Catalog& catalog;
  storage::OperationServices operations;  ///< without tickets: work that has begun is to end
  storage::DurabilityTracker& durability;
  std::function<void()> wakeFlusher;
  DocumentRemovals* removals = nullptr;  ///< an observer of the catalog; null: removals by others go unnoticed
  /// Awaits that a majority of the set has all that is written in the term, or in the present one; the node loses its
  /// right to write meanwhile, or has another term by now: InterruptedDueToReplStateChange. Null: this node is all
  /// there is, and its journal will do.
  std::function<Task<Status>(std::optional<int64_t> term)> majority = {};
};

}  // namespace troupe::machines
