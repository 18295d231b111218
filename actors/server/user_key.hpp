#pragma once
#include <compare>
#include <string>

namespace troupe::server {

/// Identity of a user. A user who was dropped and made again has another id: what the former one owned is not his.
struct UserKey {
  std::string database, name;
  std::string id = {};  ///< the bytes of `userId`; empty for the cluster itself

  /// "name@database", for people: two users may have the same text.
  std::string text() const { return name + "@" + database; }
  std::strong_ordering operator<=>(const UserKey&) const = default;
  bool operator==(const UserKey&) const = default;
};

}  // namespace troupe::server
