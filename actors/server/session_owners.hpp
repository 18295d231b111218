#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::server {

/// The names of the users that own sessions, each kept once however many sessions it has, until the last of them goes.
/// A name is that of its digest: whoever names another user's session does not become its owner. Not thread-safe.
class SessionOwners {
 public:
  using Id = uint32_t;
  static constexpr Id kUnknown = 0;  ///< the name of the digest was never told

  /// One more session of the owner. `name`: "user@db, ...", of which `digest` is the digest; empty where it is not
  /// known, then the name that is remembered for the digest counts.
  Id acquire(std::string_view digest, std::string_view name);
  /// One session less.
  void release(Id id);
  /// Empty for kUnknown, and for sessions of no user.
  const std::string& nameOf(Id id) const;
  /// The owners' names, with their digests.
  std::vector<std::pair<std::string, std::string>> all() const;
  size_t size() const { return byDigest_.size(); }

 private:
  struct Owner {
    std::string digest, name;
    uint32_t sessions = 0;
  };
  Id add(std::string_view digest, std::string_view name);

  std::vector<Owner> owners_ = std::vector<Owner>(1);  ///< by id; the first is kUnknown
  std::vector<Id> free_;
  std::unordered_map<std::string, Id> byDigest_;
};

}  // namespace troupe::server
