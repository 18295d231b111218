#include "actors/server/session_owners.hpp"

#include <algorithm>

#include "actors/server/client.hpp"
#include "actors/server/session_key.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::server {

SessionOwners::Id SessionOwners::acquire(std::string_view digest, std::span<const UserKey> users) {
  const auto known = byDigest_.find(std::string(digest));
  if (known == byDigest_.end()) return users.empty() ? kUnknown : add(digest, users);
  ++owners_[known->second].sessions;
  return known->second;
}

SessionOwners::Id SessionOwners::add(std::string_view digest, std::span<const UserKey> users) {
  invariant(SessionKey::ownerOf(users) == digest, "an owner's users are those of its digest");
  Id id = static_cast<Id>(owners_.size());
  if (free_.empty()) {
    owners_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  owners_[id] = {std::string(digest), {users.begin(), users.end()}, joinedNames(users), 1};
  byDigest_.emplace(digest, id);
  return id;
}

void SessionOwners::release(Id id) {
  if (id == kUnknown || --owners_[id].sessions > 0) return;
  byDigest_.erase(owners_[id].digest);
  owners_[id] = {};
  free_.push_back(id);
}

const std::string& SessionOwners::nameOf(Id id) const { return owners_[id].name; }

std::vector<SessionOwners::Known> SessionOwners::look(size_t& next, size_t most) const {
  std::vector<Known> found;
  const size_t end = std::min(owners_.size(), next + most);
  for (; next < end; ++next)
    if (owners_[next].sessions > 0) found.push_back({owners_[next].digest, owners_[next].users});
  return found;
}

}  // namespace troupe::server
