#pragma once
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/machines/document_store.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/catalog/write_observer.hpp"

namespace troupe::machines {

/// Tells services with DocumentRemoved which of their documents are gone, removed by any client and any command: a
/// delete, a drop, a rename. They are told once the removal is committed. Documents of services are kept in the
/// database `config`; writes elsewhere cost nothing. One for a node, among the observers of its catalog.
/// Thread-safe.
class DocumentRemovals final : public storage::WriteObserver {
 public:
  static constexpr std::string_view kDatabase = "config";

  /// From now on `service` is told of removals from that collection, which need not exist yet. The node outlives the
  /// last write.
  void report(const storage::Namespace& ns, Node& node, const Address& service);

  bool observes(const storage::CatalogEntry& entry) const override;
  Status onRemove(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::RemoveOperation& removed) override;
  Status onTruncate(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onDrop(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) override;

 private:
  struct Services {
    Node* node = nullptr;
    std::vector<Address> told;
  };
  Status tellOnCommit(storage::RecoveryUnit& unit, const storage::Namespace& ns, bson::Document key);

  std::mutex mutex_;
  std::map<std::string, Services> services_;  ///< by collection
};

}  // namespace troupe::machines
