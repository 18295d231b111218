#pragma once
#include <functional>
#include <string>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/write_fence.hpp"

namespace troupe {

// Waits of an operation in storage, without holding a thread. Waits for locks and tickets end with the failure of
// the operation when it is killed or its deadline passes, and are given up when the waiting coroutine goes away.

/// Ends a wait of a writer that has its role already (it holds the state transition lock) as soon as writes are
/// refused, as its writes would: a change of the role, with all reads that queue behind it, would wait as long. `end`
/// may be called from any thread, as that of InterruptibleWait. The result lives as long as the wait.
storage::WriteFence::Watch endWithWrites(storage::OperationContext& operation, std::function<void(const Status&)> end);
/// Takes the lock, and the tickets that come before it, if nothing of that has to be waited for. False: `acquireLock`.
bool tryAcquireLock(storage::OperationContext& operation, storage::HeldLock& held);
/// Acquires what is missing of the lock, after the ticket of flow control that writers need and an execution ticket
/// (LCK-008). Errors: Interrupted and its kin, MaxTimeMSExpired,
/// WriteConflict (the wait would be a deadlock), NotWritablePrimary (writes are refused while a writer waits for a
/// database or collection, whose wait a change of the role must not wait for). Locks acquired before a failure are
/// released with `held`.
Task<Status> acquireLock(Node& node, storage::OperationContext& operation, storage::HeldLock& held);
/// The lock of one collection with intent locks above it: IX to write documents, X to change its shape. A collection
/// that is not replicated is written in every role: its locks leave out the state transition, which must not hold up a
/// vote. Nothing is acquired yet.
storage::HeldLock collectionLock(storage::OperationContext& operation, const storage::Namespace& ns,
                                 storage::LockMode mode);
/// Waits for the lock of a collection or database, and for a ticket first. Errors: those of acquireLock.
Task<StatusWith<storage::HeldLock>> lockCollection(Node& node, storage::OperationContext& operation,
                                                   storage::Namespace ns, storage::LockMode mode);
/// The lock of a collection under the name it has by then: it may have been renamed while nobody held it. A dropped one
/// is locked under its `last` name. `catalog` outlives the task.
Task<StatusWith<storage::HeldLock>> lockCollection(Node& node, storage::OperationContext& operation,
                                                   const storage::Catalog& catalog, bson::Uuid uuid,
                                                   storage::Namespace last, storage::LockMode mode);
Task<StatusWith<storage::HeldLock>> lockDatabase(Node& node, storage::OperationContext& operation, std::string db,
                                                 storage::LockMode mode);
/// Takes a ticket again that was given back during a wait, before the operation goes on.
Task<Status> admit(Node& node, storage::OperationContext& operation, bool write);
/// Acquires the locks again that `OperationContext::yieldLocks` gave up. The data they protect may have changed.
Task<Status> resumeLocks(Node& node, storage::OperationContext& operation);

/// Takes up the open unit of work that another command has stashed. Waits for the state transition lock and a ticket
/// first; meanwhile the unit stays in IdleUnits, where a change of the role can end it. Errors: those of acquireLock,
/// which leave `stashed` unchanged; those of `unstash`.
Task<Status> takeUp(Node& node, storage::OperationContext& operation, storage::StashedOperation& stashed);

/// Completes when the commit of that ticket is on disk, or with the failure of the flush. `wakeFlusher` is called when
/// no flush is under way that covers it.
Future<Status> untilDurable(storage::DurabilityTracker& durability, storage::DurabilityTicket ticket,
                            const std::function<void()>& wakeFlusher);

}  // namespace troupe
