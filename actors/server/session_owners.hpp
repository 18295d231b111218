#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
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
  struct Name {
    std::string digest, name;
  };
  /// The names among the next `most` ids from `next` on, which moves behind them, up to `ids`.
  std::vector<Name> look(size_t& next, size_t most) const;
  size_t ids() const { return owners_.size(); }
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
