#include "actors/server/session_owners.hpp"

#include <algorithm>

#include "actors/server/session_key.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::server {

SessionOwners::Id SessionOwners::acquire(std::string_view digest, std::string_view name) {
  const auto known = byDigest_.find(std::string(digest));
  if (known == byDigest_.end()) return name.empty() ? kUnknown : add(digest, name);
  ++owners_[known->second].sessions;
  return known->second;
}

SessionOwners::Id SessionOwners::add(std::string_view digest, std::string_view name) {
  invariant(SessionKey::ownerOf(name) == digest, "an owner's name is that of its digest");
  Id id = static_cast<Id>(owners_.size());
  if (free_.empty()) {
    owners_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  owners_[id] = {std::string(digest), std::string(name), 1};
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

std::vector<SessionOwners::Name> SessionOwners::look(size_t& next, size_t most) const {
  std::vector<Name> found;
  const size_t end = std::min(owners_.size(), next + most);
  for (; next < end; ++next)
    if (owners_[next].sessions > 0) found.push_back({owners_[next].digest, owners_[next].name});
  return found;
}

}  // namespace troupe::server
