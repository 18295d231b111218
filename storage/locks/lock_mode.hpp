#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::storage {

/// How a resource is held (LCK-002). The intent modes announce locks on resources below it. In the order of strength,
/// except that neither of IX and S covers the other.
enum class LockMode : uint8_t { kNone, kIS, kIX, kS, kX };

inline constexpr size_t kLockModes = 5;
inline constexpr std::array<LockMode, 4> kHeldModes{LockMode::kIS, LockMode::kIX, LockMode::kS, LockMode::kX};

/// May two operations hold the same resource in these modes at the same time? Symmetric.
constexpr bool compatible(LockMode a, LockMode b) {
  if (a == LockMode::kNone || b == LockMode::kNone) return true;
  if (a == LockMode::kX || b == LockMode::kX) return false;
  if (a == LockMode::kIS || b == LockMode::kIS) return true;
  return a == b;  // IX beside IX, S beside S
}

/// Does a lock in mode `held` permit all that one in mode `wanted` does?
constexpr bool covers(LockMode held, LockMode wanted) {
  if (held == wanted || held == LockMode::kX || wanted == LockMode::kNone) return true;
  return wanted == LockMode::kIS && held != LockMode::kNone;
}

/// The weakest mode that covers both: what a conversion asks for. IX and S together need X.
constexpr LockMode combined(LockMode a, LockMode b) {
  if (covers(a, b)) return a;
  return covers(b, a) ? b : LockMode::kX;
}

constexpr bool isIntent(LockMode mode) { return mode == LockMode::kIS || mode == LockMode::kIX; }
/// The weakest mode in which the resources above one held in `mode` have to be held.
constexpr LockMode intentAbove(LockMode mode) {
  return mode == LockMode::kIX || mode == LockMode::kX ? LockMode::kIX : LockMode::kIS;
}

/// "IX", as lockInfo shows it.
constexpr std::string_view nameOf(LockMode mode) {
  constexpr std::array<std::string_view, kLockModes> names{"NONE", "IS", "IX", "S", "X"};
  return names[static_cast<size_t>(mode)];
}
/// The letter of currentOp and serverStatus.locks: r (IS), w (IX), R (S), W (X).
constexpr std::string_view letterOf(LockMode mode) {
  constexpr std::array<std::string_view, kLockModes> letters{"", "r", "w", "R", "W"};
  return letters[static_cast<size_t>(mode)];
}

}  // namespace troupe::storage
