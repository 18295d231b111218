#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "actors/machines/document_store.hpp"
#include "actors/machines/group_commit.hpp"

namespace troupe::machines {

/// Documents in a collection, where `find` shows them. Writes of many at once share transactions (see GroupCommit);
/// reading waits for those that were handed over before.
class CollectionStore final : public DocumentStore {
 public:
  CollectionStore(StorageAccess access, storage::Namespace ns);

  Task<Status> put(bson::Document document, Durability durability) override;
  Task<Status> remove(bson::Document key, Durability durability) override;
  Task<StatusWith<std::optional<bson::Document>>> find(bson::Document key) override;
  Task<StatusWith<DocumentBatch>> load(int64_t from, size_t limit) override;
  /// As `load`, at once: for a start, when nothing has been handed over yet. Reads storage on the calling thread.
  StatusWith<DocumentBatch> loadNow(int64_t from, size_t limit) const;
  Task<Status> settle() override;
  void serveIn(int64_t term) override { term_ = term; }
  void reportRemovals(const Address& service) override;

 private:
  GroupCommit& laneOf(bson::View key) const;
  StatusWith<storage::CollectionPtr> collection() const;
  std::optional<int64_t> servedTerm() const;
  Task<Status> write(bson::Document document, GroupCommit::Change change, Durability durability);

  StorageAccess access_;
  storage::Namespace ns_;
  std::atomic<int64_t> term_{0};  ///< in which the service runs; 0: in every one
  /// The lane of a document, chosen by its `_id`: writes of one document keep their order, lanes work side by side.
  std::array<std::shared_ptr<GroupCommit>, 2> lanes_;
};

}  // namespace troupe::machines
