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

/// The logical sessions this node has seen lately. A session belongs to the users that began it: the same UUID of
/// others is another session. It ends when a client says so or when nobody used it for the session time-out; its
/// cursors end with it. Thread-safe. (SES)
class SessionRegistry {
 public:
  static constexpr size_t kMaxSessions = 1'000'000;

  /// What a session is known by: the 16 bytes of its id, and its owner.
  using Key = std::string;
  static constexpr size_t kIdBytes = 16;

  /// Notes the use of `lsid` ({id: UUID, ...}); an empty document is no session. Errors: BadValue, TypeMismatch
  /// (malformed ids), TooManyLogicalSessions.
  Status touch(bson::View lsid, TimePoint now, std::string_view owner = {});
  /// The 16 bytes of a session's id.
  static StatusWith<std::string> idOf(bson::View lsid);
  static StatusWith<Key> keyOf(bson::View lsid, std::string_view owner);
  /// The owner's part of a key: a digest of 32 bytes of the users' names ("user@db, ..."); empty for no user.
  static std::string ownerOf(std::string_view userNames);
  void end(const Key& key);
  /// Ends sessions unused since then; returns their keys.
  std::vector<Key> endIdle(TimePoint unusedSince);
  std::vector<Key> keys() const;
  /// Each session's key and when it was last used.
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
