#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/machines/document_store.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/locks/resource_locks.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::machines {

class DocumentRemovals;

/// What a store needs of its node; all of it outlives the store.
struct StorageAccess {
  Node& node;
  storage::Catalog& catalog;
  storage::SessionPool& sessions;
  storage::ResourceLocks& locks;
  storage::DurabilityTracker& durability;
  std::function<void()> wakeFlusher;
  DocumentRemovals* removals = nullptr;  ///< an observer of the catalog; null: nobody hears of removals by others
};

/// Documents in a collection, where `find` shows them. The collection is made with the first document. A write and its
/// index keys are one storage transaction, tried again after conflicts.
class CollectionStore final : public DocumentStore {
 public:
  CollectionStore(StorageAccess access, storage::Namespace ns) : access_(std::move(access)), ns_(std::move(ns)) {}

  Task<Status> put(bson::Document document, Durability durability) override;
  Task<Status> remove(bson::Document key, Durability durability) override;
  Task<StatusWith<std::optional<bson::Document>>> find(bson::Document key) override;
  Task<StatusWith<DocumentBatch>> load(int64_t from, size_t limit) override;
  Task<Status> settle() override;
  void reportRemovals(const Address& service) override;

 private:
  struct Open {
    storage::LockGuard lock;
    storage::CollectionPtr collection;  ///< null: there is none
  };
  using Change = Status (CollectionStore::*)(const storage::Collection&, storage::RecoveryUnit&, bson::View);
  std::optional<Open> tryOpen();
  Task<StatusWith<Open>> open(bool createMissing);
  Task<Status> create();
  Task<Status> write(bson::Document document, Change change, bool createMissing, Durability durability);
  template <class Body>
  Status attempt(storage::RecoveryUnit& unit, storage::ConflictRetry& retry, const Body& body);
  Status replace(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View document);
  Status erase(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View key);

  StorageAccess access_;
  storage::Namespace ns_;
  size_t stripe_ = storage::ResourceLocks::stripeOf(ns_.toString());
  /// Where documents were written last, by a hash of their `_id`: guesses, which spare most writes a search of the index.
  std::vector<std::atomic<int64_t>> places_ = std::vector<std::atomic<int64_t>>(4096);
};

}  // namespace troupe::machines
