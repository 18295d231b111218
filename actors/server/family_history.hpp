#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/sessions/retryable_writes.hpp"

namespace troupe::server {

/// What all sessions of a family have executed under one number of the parent, so that a statement which ran in one of
/// them is not executed again in another (SES-017). Used by the operation that has the family. Families whose parent
/// has no children keep nothing here, and read nothing for it.
class FamilyHistory {
 public:
  /// As of when it was read: what is known holds in that term, until the records are edited.
  struct Stamp {
    int64_t term = 0, edits = 0;
    bool operator==(const Stamp&) const = default;
  };

  /// A number has begun. `isNew`: until now the family's records have had nothing of it from other sessions than the
  /// parent, so that nothing need be read.
  void begin(int64_t number, const Stamp& stamp, bool isNew);
  /// Reads what the children have done, unless it is known. False: it is to be called again, once others have had their
  /// turn. Errors: as of RetryableWrites::load and loadMore.
  StatusWith<bool> readChildren(storage::OperationContext& operation, const storage::OplogStore& log,
                                const storage::SessionTables& tables, bson::View parent);
  /// The same of the parent, for a child. `known`: what is remembered of it, as of now; null: it has to be read.
  StatusWith<bool> readParent(storage::OperationContext& operation, const storage::OplogStore& log,
                              const storage::SessionTables& tables, const storage::RetryableWrites& parent,
                              bool isKnown);
  /// The operation has ended, perhaps while it read. Who remembers the family counts its statements from now on.
  void endUse() {
    endReading();
    memory_.reset();
  }
  /// An operation has ended that executed statements, of a child or of the parent, under that number of the parent.
  void add(int64_t number, const storage::RetryableWrites& done, bool isChild, size_t most);

  const storage::FamilyStatements& statements() const { return statements_; }
  size_t size() const { return statements_.places.size(); }

 private:
  static constexpr size_t kChildrenInATurn = 64;

  void endReading() {
    toRead_.reset();
    reading_.reset();
  }
  StatusWith<bool> readOne(storage::OperationContext& operation, const storage::OplogStore& log);
  void merge(const storage::RetryableWrites& done);

  int64_t number_ = -1;
  Stamp stamp_;
  storage::FamilyStatements statements_;
  storage::MemoryReservation memory_;             ///< of them, while an operation has the family
  bool hasChildren_ = false, hasParent_ = false;  ///< they are among the statements
  std::optional<std::vector<bson::Document>> toRead_;
  std::unique_ptr<storage::RetryableWrites> reading_;
};

}  // namespace troupe::server
