#include "actors/server/session_key.hpp"

#include <algorithm>
#include <vector>

#include "messaging/auth/crypto.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::server {

SessionKey::SessionKey(std::string_view id, std::string_view owner) {
  if (owner.empty()) owner = nobody();
  invariant(id.size() == kIdBytes && owner.size() == kOwnerBytes, "a session has a UUID and an owner's digest");
  std::memcpy(bytes_.data(), id.data(), kIdBytes);
  std::memcpy(bytes_.data() + kIdBytes, owner.data(), kOwnerBytes);
}

StatusWith<std::string_view> SessionKey::idOf(bson::View lsid) {
  bson::Element id, unknown;
  for (const bson::Element& e : lsid) {
    if (e.name() == "id") {
      if (!id.ok()) id = e;
    } else if (e.name() != "uid" && e.name() != "txnNumber" && e.name() != "txnUUID") {
      unknown = e;
    }
  }
  if (!id.ok()) return Status(ErrorCode::kMissingRequiredField, "BSON field 'lsid.id' is missing but a required field");
  if (unknown.ok())
    return Status(ErrorCode::kUnknownField,
                  "BSON field 'lsid." + std::string(unknown.name()) + "' is an unknown field.");
  if (!id.is(bson::Type::kBinary)) {
    return Status(ErrorCode::kTypeMismatch, "BSON field 'lsid.id' is the wrong type '" +
                                                std::string(bson::typeName(id.type())) + "', expected type 'binData'");
  }
  const bson::Binary uuid = id.asBinary();
  if (uuid.subtype != bson::kBinaryUuid || uuid.bytes.size() != kIdBytes)
    return Status(ErrorCode::kInvalidUUID, "lsid.id must be a UUID: binary subtype 4 of 16 bytes");
  return uuid.bytes;
}

StatusWith<SessionKey> SessionKey::ofStored(bson::View lsid) {
  TROUPE_ASSIGN(const auto id, idOf(lsid));
  const bson::Element uid = lsid["uid"];
  if (!uid.is(bson::Type::kBinary) || uid.asBinary().bytes.size() != kOwnerBytes)
    return Status(ErrorCode::kUnauthorized, "lsid.uid must be the digest (32 bytes) of a user's name");
  return SessionKey(id, uid.asBinary().bytes);
}

std::string SessionKey::ownerOf(std::span<const UserKey> users) {
  if (users.empty()) return nobody();
  std::vector<UserKey> sorted(users.begin(), users.end());
  std::ranges::sort(sorted);
  // Each part goes with its length: names may hold whatever would stand between them.
  std::string parts;
  for (const UserKey& user : sorted) {
    for (const std::string* part : {&user.database, &user.name, &user.id})
      parts += std::to_string(part->size()) + ":" + *part;
  }
  return auth::digest(auth::Mechanism::kScramSha256, parts);
}

const std::string& SessionKey::nobody() {
  static const std::string digest = auth::digest(auth::Mechanism::kScramSha256, "");
  return digest;
}

bson::Document SessionKey::toDocument() const {
  return bson::doc("id", bson::Binary{bson::kBinaryUuid, id()}, "uid", bson::Binary{bson::kBinaryGeneric, owner()});
}

}  // namespace troupe::server
