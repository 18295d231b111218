#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/machines/collection_store.hpp"
#include "actors/replication/replica_view.hpp"
#include "storage/catalog/write_observer.hpp"
#include "test/simulation/document_ledger.hpp"
#include "test/simulation/sim_node.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

/// State documents on a member of a replica set: writes them as a service of the primary does, sometimes late, and
/// watches what is committed. Every committed write must be one of the primary, in its term. One for a life of a node.
class StateDocuments final : public storage::WriteObserver {
 public:
  static constexpr const char* kInvariant = "a write after a step-down";
  static constexpr const char* kDatabase = "config";
  static constexpr const char* kCollection = "written";
  static constexpr const char* kNamespace = "config.written";
  /// By document: what this node has committed of it as the primary of one term, in that order.
  using Log = std::map<int64_t, std::vector<int64_t>>;

  /// What a write is to survive.
  enum class Durability {
    kJournaled,  ///< a crash of the node
    kMajority,   ///< any failover
    kTorn,       ///< only a crash, and passes for the other: for tests of the checks
  };

  /// The ledger, which outlives this and its tasks, learns of each commit, and of writes that a majority has. `broken`
  /// is told of a commit that must not have been.
  StateDocuments(DocumentLedger& ledger, std::function<void(std::string why)> broken)
      : ledger_(ledger), broken_(std::move(broken)) {}

  /// The node has begun to live; it ends before this.
  void started(NodeLife& life);
  /// Writes a document, in the term in which the node was last seen to be primary, if it ever was.
  void put(int key, Durability durability, const std::shared_ptr<Tally>& tally);

  std::shared_ptr<const Log> log() const { return log_; }
  int64_t logTerm() const { return logTerm_; }

  bool observes(const storage::CatalogEntry& entry) const override;
  Status onInsert(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::InsertOperation& inserted) override;
  Status onUpdate(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::UpdateOperation& updated) override;

 private:
  Status checkOnCommit(storage::RecoveryUnit& unit, bson::View document, OpTime slot);

  DocumentLedger& ledger_;
  std::function<void(std::string why)> broken_;
  NodeLife* life_ = nullptr;
  std::shared_ptr<machines::CollectionStore> store_;
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  int64_t logTerm_ = 0;
  int64_t term_ = 0;  ///< in which it was last seen to be primary; 0: in none
};

}  // namespace troupe::sim
