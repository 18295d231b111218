#include "actors/server/session_registry.hpp"

#include <algorithm>
#include <array>

#include "messaging/auth/crypto.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::server {

namespace {

StatusWith<std::string_view> idBytes(bson::View lsid) {
  const bson::Element id = lsid["id"];
  if (!id.ok()) return Status(ErrorCode::kMissingRequiredField, "BSON field 'lsid.id' is missing but a required field");
  if (!id.is(bson::Type::kBinary)) {
    return Status(ErrorCode::kTypeMismatch, "BSON field 'lsid.id' is the wrong type '" +
                                                std::string(bson::typeName(id.type())) + "', expected type 'binData'");
  }
  const bson::Binary uuid = id.asBinary();
  if (uuid.subtype != bson::kBinaryUuid || uuid.bytes.size() != 16) {
    return Status(ErrorCode::kInvalidUUID, "lsid.id must be a UUID: binary subtype 4 of 16 bytes");
  }
  return uuid.bytes;
}

}  // namespace

StatusWith<std::string> SessionRegistry::idOf(bson::View lsid) {
  TROUPE_ASSIGN(const auto id, idBytes(lsid));
  return std::string(id);
}

StatusWith<SessionRegistry::Key> SessionRegistry::keyOf(bson::View lsid, std::string_view owner) {
  TROUPE_ASSIGN(auto key, idOf(lsid));
  key += owner;
  return key;
}

std::string SessionRegistry::ownerOf(std::string_view userNames) {
  return userNames.empty() ? std::string() : auth::digest(auth::Mechanism::kScramSha256, userNames);
}

Status SessionRegistry::touch(bson::View lsid, TimePoint now, std::string_view owner) {
  if (lsid.empty()) return Status::OK();
  TROUPE_ASSIGN(const auto bytes, idBytes(lsid));
  // On the stack: every command of a driver comes here.
  std::array<char, 64> buffer;
  invariant(bytes.size() + owner.size() <= buffer.size(), "an owner is a digest");
  const auto end = std::ranges::copy(owner, std::ranges::copy(bytes, buffer.begin()).out).out;
  const std::string_view id(buffer.data(), static_cast<size_t>(end - buffer.begin()));
  const std::lock_guard lock(mutex_);
  if (const auto known = lastUsed_.find(id); known != lastUsed_.end()) {
    known->second = now;
    return Status::OK();
  }
  if (lastUsed_.size() >= kMaxSessions) {
    return {ErrorCode::kTooManyLogicalSessions, "cannot add session into the cache: too many sessions are open"};
  }
  lastUsed_.emplace(id, now);
  return Status::OK();
}

void SessionRegistry::end(const Key& id) {
  const std::lock_guard lock(mutex_);
  lastUsed_.erase(id);
}

std::vector<SessionRegistry::Key> SessionRegistry::endIdle(TimePoint unusedSince) {
  std::vector<std::string> ended;
  const std::lock_guard lock(mutex_);
  for (auto it = lastUsed_.begin(); it != lastUsed_.end();) {
    if (it->second < unusedSince) {
      ended.push_back(it->first);
      it = lastUsed_.erase(it);
    } else {
      ++it;
    }
  }
  return ended;
}

std::vector<SessionRegistry::Key> SessionRegistry::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [id, used] : lastUsed_) all.push_back(id);
  return all;
}

std::vector<std::pair<std::string, TimePoint>> SessionRegistry::uses() const {
  const std::lock_guard lock(mutex_);
  return {lastUsed_.begin(), lastUsed_.end()};
}

size_t SessionRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return lastUsed_.size();
}

}  // namespace troupe::server
