#pragma once
#include <cstdint>
#include <string_view>

namespace troupe::storage {

/// How urgently an operation is admitted to storage (LCK-009). Immediate operations (replication, observation, what
/// frees resources) bypass the tickets; low ones (TTL deletes, index builds, unbounded scans) go after normal ones.
enum class AdmissionPriority : uint8_t { kLow, kNormal, kImmediate };

constexpr std::string_view nameOf(AdmissionPriority priority) {
  switch (priority) {
    case AdmissionPriority::kLow: return "low";
    case AdmissionPriority::kNormal: return "normal";
    case AdmissionPriority::kImmediate: return "exempt";
  }
  return "";
}

}  // namespace troupe::storage
