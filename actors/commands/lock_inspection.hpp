#pragma once
#include <vector>

#include "actors/server/lock_statistics.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/document.hpp"
#include "storage/locks/lock_view.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::commands {
using namespace server;

/// Fields of an operation in currentOp: `locks`, `waitingForLock`, `lockStats`, `admissionPriority`. `resources`: what
/// is locked now. The operation cannot end meanwhile (Client::withOperation).
void appendLocks(bson::Builder& row, const std::vector<storage::ResourceView>& resources,
                 const storage::OperationContext& operation);
/// serverStatus.wiredTiger.concurrentTransactions and queues.execution: the pools of tickets and their queues.
bson::Document admissionStatistics(storage::ExecutionAdmission& admission);
/// Holders and waiters of every resource, for lockInfo and the admin page: {resourceId, granted: [{mode, lockerId,
/// micros, clientInfo?}], pending: [the same, in the order of their grants]}.
std::vector<bson::Document> lockRows(ServerContext& server);

}  // namespace troupe::commands
