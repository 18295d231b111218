#include "actors/server/session_registry.hpp"

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

Status SessionRegistry::touch(bson::View lsid, TimePoint now) {
  if (lsid.empty()) return Status::OK();
  TROUPE_ASSIGN(const auto id, idBytes(lsid));
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

void SessionRegistry::end(const std::string& id) {
  const std::lock_guard lock(mutex_);
  lastUsed_.erase(id);
}

std::vector<std::string> SessionRegistry::endIdle(TimePoint unusedSince) {
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

std::vector<std::string> SessionRegistry::ids() const {
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
