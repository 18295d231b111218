#pragma once
#include "storage/operation/operation_context.hpp"

namespace troupe::replication {

/// For operations of appliers and copiers: they ask for no execution ticket, since they must not wait behind clients.
inline storage::OperationServices withoutTickets(storage::OperationServices services) {
  services.admission = nullptr;
  return services;
}

}  // namespace troupe::replication
