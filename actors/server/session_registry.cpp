#include "actors/server/session_registry.hpp"

#include <algorithm>
#include <array>
#include <iterator>

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

const std::string& SessionRegistry::nobody() {
  static const std::string digest = auth::digest(auth::Mechanism::kScramSha256, "");
  return digest;
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
  if (const auto known = byId_.find(id); known != byId_.end()) {
    known->second->lastUsed = now;
    byUse_.splice(byUse_.end(), byUse_, known->second);
    return Status::OK();
  }
  while (!byUse_.empty() && static_cast<int64_t>(byUse_.size()) >= most_.load(std::memory_order_relaxed)) {
    forget(byUse_.begin());
    ++displaced_;
  }
  byUse_.push_back({Key(id), now});
  byId_.emplace(byUse_.back().key, std::prev(byUse_.end()));
  return Status::OK();
}

void SessionRegistry::forget(Entries::iterator entry) {
  byId_.erase(entry->key);
  byUse_.erase(entry);
}

void SessionRegistry::end(const Key& id) {
  const std::lock_guard lock(mutex_);
  if (const auto known = byId_.find(id); known != byId_.end()) forget(known->second);
}

std::vector<SessionRegistry::Key> SessionRegistry::endIdle(TimePoint unusedSince) {
  std::vector<std::string> ended;
  const std::lock_guard lock(mutex_);
  while (!byUse_.empty() && byUse_.front().lastUsed < unusedSince) {
    ended.push_back(byUse_.front().key);
    forget(byUse_.begin());
  }
  return ended;
}

std::vector<SessionRegistry::Key> SessionRegistry::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const Entry& entry : byUse_) all.push_back(entry.key);
  return all;
}

std::vector<std::pair<std::string, TimePoint>> SessionRegistry::uses() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, TimePoint>> all;
  for (const Entry& entry : byUse_) all.emplace_back(entry.key, entry.lastUsed);
  return all;
}

size_t SessionRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return byUse_.size();
}

int64_t SessionRegistry::displaced() const {
  const std::lock_guard lock(mutex_);
  return displaced_;
}

}  // namespace troupe::server
