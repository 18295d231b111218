#pragma once
#include <utility>

#include "messaging/bson/document.hpp"

namespace troupe::query {

/// Result of an evaluation: a value borrowed from the document at hand (no copy), an owned one, or "missing".
/// A borrowed operand is valid as long as the document and the variables it was evaluated over. Movable; single thread.
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
  /// The value, independent of any document.
  bson::Value take() && { return owned_.ok() ? std::move(owned_) : bson::Value(borrowed_); }
  bson::Value copy() const { return owned_.ok() ? owned_ : bson::Value(borrowed_); }

 private:
  bson::Element borrowed_;
  bson::Value owned_;
};

}  // namespace troupe::query
