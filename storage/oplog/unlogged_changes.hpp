#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "storage/catalog/write_observer.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Changes of replicated data in the directory of a member that was started without its set. Neither its log nor the
/// other members know of them: as a member it would serve different data from then on, or end at an entry that does
/// not fit. So the first one leaves a mark in a logged table, in its own unit of work, and a start as a member refuses
/// the directory. Reading leaves none. A node whose log is dropped has left its set for good, and the mark goes too.
/// Part of a node that stands alone over a log of operations; outlives the catalog.
class UnloggedChanges final : public WriteObserver {
 public:
  static constexpr std::string_view kIdent = "unloggedChanges";

  /// *Blocks.* Errors: those of openEssentialTable.
  static StatusWith<std::unique_ptr<UnloggedChanges>> open(Engine& engine);
  /// For a start as a member: OK, also where the log was dropped, or ManualInterventionRequired with what was changed
  /// first, or that a repair has lost the log. *Blocks.*
  static Status checkNone(Engine& engine);
  /// Of a repair: documents may be missing where one of these parts held some (RepairMark). *Blocks.*
  Status noteRepair(Engine& engine, const std::set<std::string>& damaged) const;
  /// Whether the directory has a log of operations that is not empty, and so data that other members have; or had one
  /// that a repair has lost. *Blocks.*
  static StatusWith<bool> isMembersDirectory(Engine& engine);

  bool observes(const CatalogEntry& entry) const override;
  Status onInsert(RecoveryUnit& unit, const Collection& collection, const InsertOperation&) override;
  Status onUpdate(RecoveryUnit& unit, const Collection& collection, const UpdateOperation&) override;
  Status onRemove(RecoveryUnit& unit, const Collection& collection, const RemoveOperation&) override;
  Status onTruncate(RecoveryUnit& unit, const Collection& collection, const OpTime&) override;
  Status onRepair(RecoveryUnit& unit, const Collection& collection) override;
  Status onCreate(RecoveryUnit& unit, const Collection& collection, const OpTime&) override;
  Status onDrop(RecoveryUnit& unit, const Collection& collection, const OpTime&) override;
  Status onRename(RecoveryUnit& unit, const RenameOperation& renamed) override;
  Status onModify(RecoveryUnit& unit, const ModifyOperation& modified) override;
  Status onCreateIndex(RecoveryUnit& unit, const Collection& after, const IndexSpec&, const OpTime&) override;
  Status onIndexBuild(RecoveryUnit& unit, const IndexBuildOperation& step) override;
  Status onDropIndex(RecoveryUnit& unit, const Collection& before, const IndexSpec&, const OpTime&) override;

 private:
  explicit UnloggedChanges(Table table) : table_(std::move(table)) {}
  Status mark(RecoveryUnit& unit, const Collection& changed);
  Status forget(RecoveryUnit& unit, const Collection& log);

  const Table table_;
  std::atomic<bool> settled_{false};  ///< there is a mark, or there is no log any more
};

}  // namespace troupe::storage
