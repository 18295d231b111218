#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "messaging/errors/error_codes.hpp"

namespace troupe {

namespace bson {
class Document;
}

/// The name drivers know an error by, e.g. "DuplicateKey"; "Location<number>" for a number without a row.
std::string errorName(ErrorCode code);

/// The outcome of an operation that may fail for reasons a caller has to handle. A success is a null pointer,
/// so that passing one costs nothing; a failure carries a code, a reason that says what to do, and optionally a
/// document of further reply fields (`keyPattern`, `keyValue`, `errInfo` ...). Of a long reason, which quotes what a
/// client has sent, the middle is left out. Immutable; may cross threads.
/// Broken invariants are not a Status: they throw and are the supervisor's business.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, std::string reason);
  Status(ErrorCode code, std::string reason, const bson::Document& extra);

  static Status OK() { return {}; }

  bool isOK() const { return !info_; }
  ErrorCode code() const { return info_ ? info_->code : ErrorCode::kOK; }
  const std::string& reason() const;
  /// Further fields for the reply, or null.
  const bson::Document* extra() const { return info_ ? info_->extra.get() : nullptr; }
  /// The same failure with `context` and ": " before its reason.
  Status withContext(std::string_view context) const;
  /// "DuplicateKey: E11000 duplicate key ..." for logs and tests.
  std::string toString() const;

  friend bool operator==(const Status& status, ErrorCode code) { return status.code() == code; }

 private:
  struct Info {
    ErrorCode code;
    std::string reason;
    std::shared_ptr<const bson::Document> extra;
  };
  std::shared_ptr<const Info> info_;
};

/// A value, or the reason why there is none. `value()` of a failure is undefined: test `isOK()` first.
template <class T>
class [[nodiscard]] StatusWith {
 public:
  StatusWith(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  StatusWith(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design
  StatusWith(ErrorCode code, std::string reason) : status_(code, std::move(reason)) {}

  bool isOK() const { return status_.isOK(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace troupe

/// Returns the failure of `expression` (a Status) from the enclosing function.
#define TROUPE_TRY(expression)                                                          \
  do {                                                                                  \
    if (auto troupeStatus_ = (expression); !troupeStatus_.isOK()) return troupeStatus_; \
  } while (false)

#define TROUPE_JOIN_(a, b) a##b
#define TROUPE_JOIN(a, b) TROUPE_JOIN_(a, b)
#define TROUPE_ASSIGN_(slot, target, expression) \
  auto slot = (expression);                      \
  if (!slot.isOK()) return slot.status();        \
  target = std::move(slot).value()
/// `TROUPE_ASSIGN(auto x, f());` assigns the value of a StatusWith, or returns its failure.
#define TROUPE_ASSIGN(target, expression) TROUPE_ASSIGN_(TROUPE_JOIN(troupeWith_, __LINE__), target, expression)
