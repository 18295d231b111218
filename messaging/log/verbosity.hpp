#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::log {

/// The part of the server a line speaks of, as the "c" field.
enum class Component {
  kAccess,
  kActor,
  kAdmin,
  kCommand,
  kControl,
  kIndex,
  kNetwork,
  kQuery,
  kRecovery,
  kReplication,
  kStorage,
  kSupervision,
  kWrite
};
inline constexpr size_t kComponents = static_cast<size_t>(Component::kWrite) + 1;

/// Verbosity of debug lines: 0 (none) to 5, for all components or for single ones. A
/// component that has no level of its own follows the one it belongs to (recovery: storage), and those follow the base.
/// Thread-safe; asking is at most three relaxed loads.
class Verbosity {
 public:
  static constexpr int kMost = 5;
  static constexpr int kInherited = -1;

  Verbosity();
  int base() const { return levels_[kComponents].load(std::memory_order_relaxed); }
  void setBase(int level) { levels_[kComponents].store(static_cast<int8_t>(level), std::memory_order_relaxed); }
  /// Effective verbosity of a component.
  int of(Component component) const;

  /// {verbosity: 0, command: {verbosity: -1}, storage: {verbosity: -1, recovery: {verbosity: -1}}, ...}: the levels as
  /// set, by the names operators know.
  bson::Document describe() const;
  /// Sets the levels that such a document names; all of them or, on an error, none. Errors: TypeMismatch, BadValue
  /// (unknown component, or a level that is not between -1 and 5; the base can't inherit).
  Status set(bson::View given);

 private:
  std::array<std::atomic<int8_t>, kComponents + 1> levels_;  ///< by component; the last is the base
};

}  // namespace troupe::log
