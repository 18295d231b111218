#include "actors/server/family_history.hpp"

#include <utility>

#include "storage/operation/operation_context.hpp"

namespace troupe::server {

using storage::RetryableWrites;

void FamilyHistory::begin(int64_t number, const Stamp& stamp, bool isNew) {
  if (number == number_ && stamp == stamp_) return;
  number_ = number;
  stamp_ = stamp;
  statements_ = {};
  hasChildren_ = isNew;
  hasParent_ = false;
}

StatusWith<bool> FamilyHistory::readChildren(storage::OperationContext& operation, const storage::OplogStore& log,
                                             const storage::SessionTables& tables, bson::View parent) {
  if (hasChildren_) return true;
  if (!toRead_) {
    TROUPE_ASSIGN(toRead_, tables.childrenOf(operation.recoveryUnit(), parent, number_));
  }
  for (size_t read = 0; reading_ || !toRead_->empty(); ++read) {
    if (read == kChildrenInATurn) {
      operation.recoveryUnit().abandonSnapshot();
      return false;
    }
    if (!reading_) {
      reading_ = std::make_unique<RetryableWrites>(std::move(toRead_->back()), tables);
      toRead_->pop_back();
      TROUPE_TRY(reading_->loadPresent(operation));
    }
    TROUPE_ASSIGN(const bool isOver, readOne(operation, log));
    if (!isOver) return false;
  }
  endReading();
  operation.recoveryUnit().abandonSnapshot();
  hasChildren_ = true;
  return true;
}

StatusWith<bool> FamilyHistory::readParent(storage::OperationContext& operation, const storage::OplogStore& log,
                                           const storage::SessionTables& tables, const RetryableWrites& parent,
                                           bool isKnown) {
  if (hasParent_) return true;
  // Of one that has begun a later number, and was refused it, nothing is remembered of this one.
  if (isKnown && parent.number() <= number_) {
    if (parent.number() == number_) merge(parent);
    hasParent_ = true;
    return true;
  }
  // Apart from what is remembered of the parent, which holds only when all of it was read.
  if (!reading_) {
    reading_ = std::make_unique<RetryableWrites>(bson::Document(parent.session()), tables);
    TROUPE_TRY(reading_->load(operation, number_));
  }
  TROUPE_ASSIGN(const bool isOver, readOne(operation, log));
  if (isOver) operation.recoveryUnit().abandonSnapshot();
  hasParent_ = isOver;
  return isOver;
}

StatusWith<bool> FamilyHistory::readOne(storage::OperationContext& operation, const storage::OplogStore& log) {
  TROUPE_TRY(reading_->loadMore(operation, log));
  if (!reading_->isLoaded()) {
    operation.recoveryUnit().abandonSnapshot();
    return false;
  }
  TROUPE_TRY(memory_.grow(operation.services().memory,
                          static_cast<int64_t>((size() + reading_->size()) * RetryableWrites::kBytesOfStatement)));
  merge(*reading_);
  reading_.reset();
  return true;
}

void FamilyHistory::merge(const RetryableWrites& done) {
  done.each([&](int32_t statement, const OpTime& entry) { statements_.places.emplace(statement, entry); });
  statements_.isComplete = statements_.isComplete && done.isComplete();
}

/// What grows too large is read again by the next operation.
void FamilyHistory::add(int64_t number, const RetryableWrites& done, bool isChild, size_t most) {
  if (number != number_ || (!isChild && !hasParent_)) return;
  if (done.size() + size() <= most) {
    merge(done);
    return;
  }
  number_ = -1;
  statements_ = {};
}

}  // namespace troupe::server
