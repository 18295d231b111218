#pragma once
#include "messaging/errors/invariant.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Somebody who holds no lock has asked for a collection while the catalog is closed: the node rolls back or resyncs
/// (CAT-009). What is asked for may be there afterwards. Commands, jobs of workers and writes of state documents fail
/// with `status`; an actor that does not catch it is started anew.
class CatalogClosed : public BrokenInvariant {
 public:
  CatalogClosed() : BrokenInvariant(kReason) {}
  static Status status() { return {ErrorCode::kInterruptedDueToReplStateChange, kReason}; }

 private:
  static constexpr const char* kReason = "the catalog is closed and will be read again";
};

}  // namespace troupe::storage
