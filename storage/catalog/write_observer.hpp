#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/view.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "storage/oplog/write_slots.hpp"
#include "storage/records/record_id.hpp"
#include "storage/sessions/image_plan.hpp"

namespace troupe::storage {

class Collection;
class RecoveryUnit;
struct CatalogEntry;
struct CollectionChange;
struct IndexSpec;

// Operations as observers hear of them. References in them are borrowed for the call. `slot`, `slots`: the operation's
// time; none where it is not replicated or its unit is grouped (write_slots.hpp). `statement`, `statements`: the ids of
// the client's statements in a numbered session (SES-001); none else, and none for what the server removes by itself.
// `images`: what is to be kept of the documents, at times that are reserved ahead of `slot`.

struct InsertOperation {
  std::span<const bson::View> documents;
  std::span<const RecordId> ids;  ///< of their records
  WriteSlots slots;
  std::span<const int32_t> statements;  ///< one a document, or none
};
struct UpdateOperation {
  const RecordId& id;
  bson::View before, after;  ///< their difference: document_delta.hpp
  OpTime slot;
  std::optional<int32_t> statement;
  ImagePlan images = {};
};
struct RemoveOperation {
  const RecordId& id;
  bson::View document;
  OpTime slot;
  std::optional<int32_t> statement;
  ImagePlan images = {};
};
struct RenameOperation {
  const Collection& before;
  const Collection& after;
  const Collection* droppedTarget;  ///< the collection that had the new name; null: there was none
  OpTime slot;
};
struct ModifyOperation {
  const Collection& before;
  const Collection& after;
  const CollectionChange& change;  ///< what collMod was asked for
  OpTime slot;
};
/// A step of a build over documents that exist.
struct IndexBuildOperation {
  enum class Step : uint8_t { kStart, kCommit, kAbort };
  Step step;
  const Collection& collection;  ///< after the step
  const bson::Uuid& build;
  std::span<const IndexSpec> specs;
  OpTime slot;
};

/// Hears of every change of the collections it asks for, one call for each kind of operation. Documents are only
/// written by Collection, collections only by the catalog's operations, so no writer can go past it. Called within the
/// unit of work that makes the change, after the rows are written. The unit may still be rolled back: register effects
/// that follow its commit with `unit.onCommit`. A failure undoes the unit. `unit.operation()` knows the user, the
/// session, and whether documents only move between shards. Any thread; must outlive the catalog.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  /// Asked once for each version of a collection; a collection that it does not ask for costs nothing. A rename is told
  /// to the observers of both names.
  virtual bool observes(const CatalogEntry& entry) const = 0;

  virtual Status onInsert(RecoveryUnit&, const Collection&, const InsertOperation&) { return Status::OK(); }
  virtual Status onUpdate(RecoveryUnit&, const Collection&, const UpdateOperation&) { return Status::OK(); }
  virtual Status onRemove(RecoveryUnit&, const Collection&, const RemoveOperation&) { return Status::OK(); }
  /// All documents are removed at once.
  virtual Status onTruncate(RecoveryUnit&, const Collection&, const OpTime&) { return Status::OK(); }
  /// A repair removes records that cannot be read any more: nobody knows which documents they were.
  virtual Status onRepair(RecoveryUnit&, const Collection&) { return Status::OK(); }

  virtual Status onCreate(RecoveryUnit&, const Collection&, const OpTime&) { return Status::OK(); }
  virtual Status onDrop(RecoveryUnit&, const Collection&, const OpTime&) { return Status::OK(); }
  virtual Status onRename(RecoveryUnit&, const RenameOperation&) { return Status::OK(); }
  virtual Status onModify(RecoveryUnit&, const ModifyOperation&) { return Status::OK(); }
  /// An index of a collection without documents, ready at once.
  virtual Status onCreateIndex(RecoveryUnit&, const Collection& after, const IndexSpec&, const OpTime&) {
    (void)after;
    return Status::OK();
  }
  virtual Status onIndexBuild(RecoveryUnit&, const IndexBuildOperation&) { return Status::OK(); }
  virtual Status onDropIndex(RecoveryUnit&, const Collection& before, const IndexSpec&, const OpTime&) {
    (void)before;
    return Status::OK();
  }
  /// After the drops of its collections. Told to all observers.
  virtual Status onDropDatabase(RecoveryUnit&, std::string_view db, const OpTime&) {
    (void)db;
    return Status::OK();
  }
};

}  // namespace troupe::storage
