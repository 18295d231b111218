#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "actors/server/user_key.hpp"

namespace troupe::server {

/// The users that own sessions, kept once however many sessions they have, until the last of those goes. They are those
/// of the digest: a client that names another user's session does not become its owner. Not thread-safe.
class SessionOwners {
 public:
  using Id = uint32_t;
  static constexpr Id kUnknown = 0;  ///< the users of the digest were never told

  /// One more session of the owner. `users`: of whom `digest` is the digest; empty where they are not known, then those
  /// that are remembered for the digest count.
  Id acquire(std::string_view digest, std::span<const UserKey> users);
  /// One session less.
  void release(Id id);
  /// "user@db, ..."; empty for kUnknown, and for sessions of no user.
  const std::string& nameOf(Id id) const;
  struct Known {
    std::string digest;
    std::vector<UserKey> users;
  };
  /// The owners among the next `most` ids from `next` on, which moves behind them, up to `ids`.
  std::vector<Known> look(size_t& next, size_t most) const;
  size_t ids() const { return owners_.size(); }
  size_t size() const { return byDigest_.size(); }

 private:
  struct Owner {
    std::string digest;
    std::vector<UserKey> users;
    std::string name;
    uint32_t sessions = 0;
  };
  Id add(std::string_view digest, std::span<const UserKey> users);

  std::vector<Owner> owners_ = std::vector<Owner>(1);  ///< by id; the first is kUnknown
  std::vector<Id> free_;
  std::unordered_map<std::string, Id> byDigest_;
};

}  // namespace troupe::server
