#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/catalog/catalog.hpp"
#include "storage/oplog/logged_command.hpp"
#include "storage/oplog/oplog_entry.hpp"

namespace troupe::storage {

class IndexBuilder;
class OperationContext;
class RecoveryUnit;

/// What an applier may take for granted about the data that an entry changes.
enum class ApplyMode : uint8_t {
  kFollowing,  ///< they are as they were on the primary: what is missing there, or is in the way, is an error
  kReplaying,  ///< they may be later: what is missing has gone since, what is there already is brought in line
};

/// Carries out operations that another node, or this one in an earlier life, has logged (OPL-010, REC-007). Each entry
/// is written at its own time and is not logged again, but observers of the collections hear of it. Applying an entry a
/// second time changes nothing; a replay from any point of the log, in order, ends with the data of its last entry.
/// Entries of indexes that a member leaves out (Catalog::makesIndexesOf) do nothing.
/// What is kept of the sessions that wrote the entries is the caller's (AppliedSessions).
/// Keeps no state of its own. One thread for an operation context; appliers of other documents may work beside it, with
/// contexts of their own. Locks are the caller's: the collection's IX for documents (X where it is capped), those of
/// catalog_operations.hpp for commands.
class OperationApplier {
 public:
  OperationApplier(Catalog& catalog, ApplyMode mode) : catalog_(catalog), mode_(mode) {}

  /// `operation` writes in WriteMode::kApplied from here on. Entries of documents may share a unit of work of the
  /// caller, each is stamped with its own time; for a command none may be open. *Blocks* for the commit of an index
  /// build, which scans its collection. Errors: FailedToParse; NamespaceNotFound, NoSuchKey, IndexNotFound,
  /// NamespaceExists (only kFollowing: this node's data are not those of the log); WriteConflict and its kin (to be
  /// applied again); the engine's. `written` (may be null) grows by the bytes of the documents as they become.
  Status apply(OperationContext& operation, const OplogEntry& entry, size_t* written = nullptr) const;
  /// The commit of an index build whose collection `scanned` has read to its end, beside the entries that came
  /// meanwhile. For kFollowing; as `apply` otherwise.
  Status commitScanned(OperationContext& operation, const OplogEntry& entry, IndexBuilder& scanned) const;

 private:
  bool isReplay() const { return mode_ == ApplyMode::kReplaying; }
  /// What is missing: an error, or nothing to do.
  Status missing(Status error) const { return isReplay() ? Status::OK() : error; }
  /// The index is not there, and need not be: this member builds none.
  bool leavesOut(const Collection& collection, std::string_view index) const {
    return !catalog_.makesIndexesOf(collection.ns()) && !collection.findIndex(index);
  }

  Status applyWithin(RecoveryUnit& unit, const LoggedOperation& operation) const;
  Status applyDocument(RecoveryUnit& unit, const LoggedOperation& operation, size_t& written) const;
  Status insert(RecoveryUnit& unit, const Collection& collection, bson::View document, size_t& written) const;
  Status update(RecoveryUnit& unit, const Collection& collection, const LoggedOperation& operation,
                size_t& written) const;
  Status remove(RecoveryUnit& unit, const Collection& collection, bson::View id) const;

  Status applyCommand(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCommand& command) const;
  /// One overload a command; `operation` has its database and UUID.
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCreate& create) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedDrop& drop) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedRename& rename) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedModify& modify) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedDropDatabase& drop) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCreateIndex& create) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedDropIndex& drop) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedTruncate& truncate) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedGroup& group) const;
  Status run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedIndexBuild& build) const;
  Status inUnit(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCommand& command) const;
  /// The indexes of documents that are there, in units of work of their own.
  Status buildIndex(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCreateIndex& create) const;
  Status commitBuild(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedIndexBuild& build) const;

  /// The collection that an operation is about: by its UUID, or a view by its name. Null when there is none, also where
  /// a collection has the name of the view.
  StatusWith<CollectionPtr> target(RecoveryUnit& unit, const LoggedOperation& operation, std::string_view name) const;
  /// In a replay: the name that the command gives is made free, in a unit of work of its own. A collection that holds
  /// it waits under a temporary name for the later entry that creates, renames or drops it.
  Status clearTheWay(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCommand& command) const;

  Catalog& catalog_;
  ApplyMode mode_;
};

}  // namespace troupe::storage
