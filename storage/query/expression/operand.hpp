#pragma once
#include <utility>

#include "messaging/bson/document.hpp"
#include "storage/operation/memory_budget.hpp"

namespace troupe::query {

/// Result of an evaluation: a value borrowed from the document at hand (no copy), an owned one, or "missing".
/// A borrowed operand is valid as long as the document and the variables it was evaluated over. An owned one that is
/// large is charged to the operation's memory budget (Variables::account). Move-only; single thread.
class Operand {
 public:
  Operand() = default;                                             ///< missing
  Operand(const bson::Element& borrowed) : borrowed_(borrowed) {}  // NOLINT: implicit by design
  Operand(bson::Value owned) : owned_(std::move(owned)) {}         // NOLINT: implicit by design

  bool ok() const { return owned_.ok() || borrowed_.ok(); }
  /// Borrowed from this operand (or from what it borrows); invalid after it is moved or destroyed.
  bson::Element element() const { return owned_.ok() ? owned_.element() : borrowed_; }
  bson::Type type() const { return owned_.ok() ? owned_.type() : borrowed_.type(); }
  bool nullish() const {
    const auto e = element();
    return e.isNullish();
  }
  bool owned() const { return owned_.ok(); }
  /// Bytes of an owned value; 0 of others.
  size_t ownedBytes() const { return owned_.valueBytes().size(); }
  /// Whatever walks values does so by recursion.
  static constexpr int kMaxDepth = bson::kMaxNestingDepth + 20;
  /// Charges the owned value, until this operand ends. Errors: ExceededMemoryLimit.
  Status charge(storage::MemoryBudget* budget) { return charge_.resize(budget, static_cast<int64_t>(ownedBytes())); }
  /// The value, independent of any document. Its charge ends with this operand.
  bson::Value take() && { return owned_.ok() ? std::move(owned_) : bson::Value(borrowed_); }
  bson::Value copy() const { return owned_.ok() ? owned_ : bson::Value(borrowed_); }

 private:
  bson::Element borrowed_;
  bson::Value owned_;
  storage::MemoryCharge charge_;
};

}  // namespace troupe::query
