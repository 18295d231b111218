#include "storage/operation/memory_budget.hpp"

#include <algorithm>
#include <string>

#include "storage/operation/node_charge.hpp"

namespace troupe::storage {

namespace {

std::string megabytes(int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Status nodeIsFull(const MemoryGovernor& governor) {
  return {
      ErrorCode::kExceededMemoryLimit,
      "the node is out of memory for operations: " + megabytes(governor.reserved()) + " of " +
          megabytes(governor.limit()) +
          " are in use (parameter operationMemoryTotalBytes). Try again when other operations have ended, close idle "
          "cursors, or narrow the query"};
}

bool MemoryGovernor::tryReserve(int64_t bytes) {
  const int64_t before = reserved_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes > limit() - before) {
    reserved_.fetch_sub(bytes, std::memory_order_relaxed);
    refusals_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < before + bytes && !peak_.compare_exchange_weak(peak, before + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

MemoryBudget::~MemoryBudget() {
  if (governor_ && reserved_ > 0) governor_->release(reserved_);
}

Status MemoryBudget::reserve(int64_t bytes) {
  if (!governor_ || bytes <= reserved_) return Status::OK();
  const int64_t more = (bytes - reserved_ + kChunk - 1) / kChunk * kChunk;
  if (governor_->tryReserve(more)) {
    reserved_ += more;
    return Status::OK();
  }
  return nodeIsFull(*governor_);
}

Status MemoryBudget::charge(int64_t bytes) {
  if (bytes > limit_ - used())
    return {ErrorCode::kExceededMemoryLimit, "the operation needs more than " + megabytes(limit_) +
                                                 " of memory (parameter operationMemoryLimitBytes). Narrow the query, "
                                                 "or make smaller values in its expressions"};
  const int64_t now = used() + bytes;
  TROUPE_TRY(reserve(now));
  used_.store(now, std::memory_order_relaxed);
  if (now > peak()) peak_.store(now, std::memory_order_relaxed);
  return Status::OK();
}

Status MemoryBudget::tryCharge(int64_t bytes) {
  TROUPE_TRY(charge(bytes));
  release(bytes);
  return Status::OK();
}

void MemoryBudget::release(int64_t bytes) {
  const int64_t now = used() - bytes;
  used_.store(now, std::memory_order_relaxed);
  // Half of it stays reserved: values come and go.
  if (!governor_ || reserved_ - now < 4 * kChunk || now > reserved_ / 2) return;
  const int64_t kept = std::max(kChunk, (now + kChunk - 1) / kChunk * kChunk);
  governor_->release(reserved_ - kept);
  reserved_ = kept;
}

Status MemoryReservation::extend(MemoryGovernor* governor, int64_t bytes) {
  if (!governor) return Status::OK();
  const int64_t more = (bytes - bytes_ + kChunk - 1) / kChunk * kChunk;
  if (!governor->tryReserve(more)) return nodeIsFull(*governor);
  governor_ = governor;
  bytes_ += more;
  return Status::OK();
}

Status NodeCharge::resize(MemoryGovernor* governor, int64_t bytes) {
  if (!governor_) governor_ = governor;
  if (!governor_) return Status::OK();
  if (bytes <= bytes_) {
    shrinkTo(bytes);
    return Status::OK();
  }
  if (!governor_->tryReserve(bytes - bytes_)) return nodeIsFull(*governor_);
  bytes_ = bytes;
  return Status::OK();
}

void NodeCharge::shrinkTo(int64_t bytes) {
  if (bytes >= bytes_) return;
  governor_->release(bytes_ - bytes);
  bytes_ = bytes;
}

Status MemoryCharge::resize(MemoryBudget* budget, int64_t bytes) {
  if (!budget_) budget_ = budget;
  if (!budget_) return Status::OK();
  if (bytes > bytes_) TROUPE_TRY(budget_->charge(bytes - bytes_));
  else if (bytes < bytes_) budget_->release(bytes_ - bytes);
  bytes_ = bytes;
  return Status::OK();
}

}  // namespace troupe::storage
