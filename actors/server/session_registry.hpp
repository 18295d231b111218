#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::server {

/// The logical sessions this node has seen lately, by their id (a UUID). A session ends when a client says so or when
/// nobody used it for the session time-out; its cursors end with it. Thread-safe. (SES)
class SessionRegistry {
 public:
  static constexpr size_t kMaxSessions = 1'000'000;

  /// Notes the use of `lsid` ({id: UUID, ...}); an empty document is no session. Errors: BadValue, TypeMismatch
  /// (malformed ids), TooManyLogicalSessions.
  Status touch(bson::View lsid, TimePoint now);
  /// The 16 bytes of a session's id.
  static StatusWith<std::string> idOf(bson::View lsid);
  void end(const std::string& id);
  /// Ends sessions unused since then; returns their ids.
  std::vector<std::string> endIdle(TimePoint unusedSince);
  std::vector<std::string> ids() const;
  /// Each session's id and when it was last used.
  std::vector<std::pair<std::string, TimePoint>> uses() const;
  size_t size() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view id) const { return std::hash<std::string_view>{}(id); }
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, TimePoint, Hash, std::equal_to<>> lastUsed_;
};

}  // namespace troupe::server
