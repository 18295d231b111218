#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::server {

/// The logical sessions this node has seen lately. A session belongs to the users that began it: the same UUID of
/// others is another session. It ends when a client says so or when nobody used it for the session time-out; its
/// cursors end with it. The table is bounded: a session that does not fit takes the place of the one unused for
/// longest, which is noted again at its next use. Thread-safe. (SES)
class SessionRegistry {
 public:
  /// `most`: sessions remembered at a time; outlives this.
  explicit SessionRegistry(const std::atomic<int64_t>& most) : most_(most) {}

  /// What a session is known by: the 16 bytes of its id, and its owner.
  using Key = std::string;
  static constexpr size_t kIdBytes = 16;

  /// Notes the use of `lsid` ({id: UUID, ...}); an empty document is no session. Errors: BadValue, TypeMismatch
  /// (malformed ids).
  Status touch(bson::View lsid, TimePoint now, std::string_view owner = {});
  /// The 16 bytes of a session's id.
  static StatusWith<std::string> idOf(bson::View lsid);
  static StatusWith<Key> keyOf(bson::View lsid, std::string_view owner);
  /// The owner's part of a key: a digest of 32 bytes of the users' names ("user@db, ..."); empty for no user.
  static std::string ownerOf(std::string_view userNames);
  /// The digest that stands for no user in the ids that are stored: `uid` of an lsid.
  static const std::string& nobody();
  void end(const Key& key);
  /// Ends sessions unused since then; returns their keys.
  std::vector<Key> endIdle(TimePoint unusedSince);
  std::vector<Key> keys() const;
  /// Each session's key and when it was last used.
  std::vector<std::pair<std::string, TimePoint>> uses() const;
  size_t size() const;
  /// How many gave their place to newer ones.
  int64_t displaced() const;

 private:
  struct Entry {
    Key key;
    TimePoint lastUsed;
  };
  using Entries = std::list<Entry>;
  void forget(Entries::iterator entry);

  const std::atomic<int64_t>& most_;
  mutable std::mutex mutex_;
  Entries byUse_;                                                 ///< the one unused for longest first
  std::unordered_map<std::string_view, Entries::iterator> byId_;  ///< keys lie in the entries
  int64_t displaced_ = 0;
};

}  // namespace troupe::server
