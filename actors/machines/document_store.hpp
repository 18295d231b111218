#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/kernel/task.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/envelope/envelope.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/core/step.hpp"

namespace troupe::machines {

/// Some of a store's documents, in the order in which they lie.
struct DocumentBatch {
  std::vector<bson::Document> documents;
  int64_t next = 0;   ///< where the batch behind this one begins
  bool last = false;  ///< nothing comes behind it
};

/// The document with that `_id` was removed by another writer (empty key: all of them, with their collection). Told to
/// a service, and by it to the instance, which ends unless it was ending anyway (local payload).
struct DocumentRemoved {
  bson::Document key;
};

/// Where the documents of one service's machines are kept, one each, by `_id`. Shared by the service and its hosts; may
/// be called on any actor. Tasks run on the caller; its handler is not blocked while they wait. Errors are those of
/// storage: recoverable ones (conflicts that outlast their retries, cache pressure, a failed flush) are tried again by
/// the host.
class DocumentStore {
 public:
  virtual ~DocumentStore() = default;
  /// Adds the document, or replaces the one of its `_id`; ends once it is as safe as asked for.
  virtual Task<Status> put(bson::Document document, Durability durability) = 0;
  /// Removes the document with the `_id` of `key`; one that is not there counts as removed.
  virtual Task<Status> remove(bson::Document key, Durability durability) = 0;
  /// The document with the `_id` of `key`, if there is one.
  virtual Task<StatusWith<std::optional<bson::Document>>> find(bson::Document key) = 0;
  /// Up to `limit` documents from `from` on (0: the first).
  virtual Task<StatusWith<DocumentBatch>> load(int64_t from, size_t limit) = 0;
  /// Completes when every write made so far, by any host, survives a crash of this node; on the primary of a replica
  /// set, what is replicated its loss, too: a majority has it.
  virtual Task<Status> settle() { co_return Status::OK(); }
  /// From now on puts and removals belong to a service that runs in that term: none of them is written in a later one.
  /// On a member of a replica set what is replicated is not written before (NotWritablePrimary).
  virtual void serveIn(int64_t term) { (void)term; }
  /// From now on `service` hears DocumentRemoved of every removal, its own or not. For stores that others can write
  /// to.
  virtual void reportRemovals(const Address& service) { (void)service; }
};

}  // namespace troupe::machines
