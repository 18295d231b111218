#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "storage/catalog/write_observer.hpp"
#include "storage/oplog/logged_command.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

/// Writes the log of a member of a replica set: one entry for each replicated operation, at the operation's slot, in
/// the storage transaction that makes the change, so that both survive or neither does (OPL-003, OPL-004). Entries of
/// retryable writes are chained, and the session's record and image are written beside them (SES-015, SES-016). Images
/// that belong into the log are notes ahead of their entry (SES-020, SES-025). A grouped unit of work gets one
/// `applyOps` entry for all its operations, at the time of its commit (OPL-013). A write without a slot is not logged:
/// in namespaces that are not replicated (OPL-008), of the node for itself, or applied from the log of another node.
/// Any thread. Errors, which undo the unit: those of OplogStore::insert; TransactionTooLarge (a group's operations take
/// more than 16 MiB).
class OplogWriter final : public WriteObserver {
 public:
  /// `nowMillis`: the node's clock, for the field `wall`.
  explicit OplogWriter(std::function<int64_t()> nowMillis) : nowMillis_(std::move(nowMillis)) {}

  /// The log to write to, which outlives all operations. To be called before the first replicated write: the oplog's
  /// own collection is in the catalog, which has its observers from the start.
  void attach(OplogStore& store) { store_ = &store; }

  /// Adds a note, an entry that changes nothing, at a slot of its own (OPL-017). Within a unit of work. Errors: those
  /// of reserveSlots.
  Status note(RecoveryUnit& unit, bson::View message);

  bool observes(const CatalogEntry& entry) const override;
  Status onInsert(RecoveryUnit&, const Collection&, const InsertOperation&) override;
  Status onUpdate(RecoveryUnit&, const Collection&, const UpdateOperation&) override;
  Status onRemove(RecoveryUnit&, const Collection&, const RemoveOperation&) override;
  Status onTruncate(RecoveryUnit&, const Collection&, const OpTime&) override;
  Status onCreate(RecoveryUnit&, const Collection&, const OpTime&) override;
  Status onDrop(RecoveryUnit&, const Collection&, const OpTime&) override;
  Status onRename(RecoveryUnit&, const RenameOperation&) override;
  Status onModify(RecoveryUnit&, const ModifyOperation&) override;
  Status onCreateIndex(RecoveryUnit&, const Collection&, const IndexSpec&, const OpTime&) override;
  Status onIndexBuild(RecoveryUnit&, const IndexBuildOperation&) override;
  Status onDropIndex(RecoveryUnit&, const Collection&, const IndexSpec&, const OpTime&) override;
  Status onDropDatabase(RecoveryUnit&, std::string_view db, const OpTime&) override;

 private:
  class Group;
  /// An operation with the place it has in the log.
  struct Logged {
    LoggedOperation operation;
    OpTime slot;
    std::optional<int32_t> statement;
    bson::View before, after;  ///< of an update or a removal
    ImagePlan images = {};     ///< what is to be kept of them
  };
  struct Rows;

  /// Writes the entries, or adds them to the unit's group.
  Status write(RecoveryUnit& unit, std::span<const Logged> logged);
  Status writeCommand(RecoveryUnit& unit, std::string_view db, const std::optional<bson::Uuid>& uuid,
                      const LoggedCommand& command, const OpTime& slot);
  /// Of a command about one collection.
  Status writeCommand(RecoveryUnit& unit, const Collection& collection, const LoggedCommand& command,
                      const OpTime& slot);
  OplogEntry entryOf(RecoveryUnit& unit, const Logged& logged) const;
  OplogEntry noteOf(const Logged& logged, bson::View image, const OpTime& place) const;
  OplogStore& store() const;

  const std::function<int64_t()> nowMillis_;
  OplogStore* store_ = nullptr;
};

}  // namespace troupe::storage
