#pragma once
#include <memory>
#include <string>

#include "actors/replication/collection_cloner.hpp"
#include "actors/replication/sync_attempt.hpp"

namespace troupe::replication {

/// Drops everything replicated on this node, then cuts its log to nothing (ISY-004): with the time of the newest entry
/// of the log, which nothing that goes is later than. May be repeated. Errors: those of storage.
Task<Status> resetData(std::shared_ptr<SyncAttempt> attempt);

/// Copies all databases of the source but `local`, one after the other, and so their collections and views (ISY-010):
/// those that the source lists by then; what comes later is in the log. May be repeated. Errors: those of
/// CollectionCloner::run and askSource.
Task<Status> cloneData(std::shared_ptr<SyncAttempt> attempt);

}  // namespace troupe::replication
