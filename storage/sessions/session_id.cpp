#include "storage/sessions/session_id.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

namespace {

using bson::Element;
using bson::Type;

Status wrongTypeOf(const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field 'lsid." + std::string(e.name()) + "' is the wrong type '" +
                                        std::string(bson::typeName(e.type())) + "', expected type '" +
                                        std::string(expected) + "'"};
}

Status readUuid(const Element& e, std::array<char, 16>& uuid) {
  if (!e.is(Type::kBinary)) return wrongTypeOf(e, "binData");
  const bson::Binary binary = e.asBinary();
  if (binary.subtype != bson::kBinaryUuid || binary.bytes.size() != uuid.size())
    return {ErrorCode::kInvalidUUID, "lsid." + std::string(e.name()) + " must be a UUID: binary subtype 4 of 16 bytes"};
  std::ranges::copy(binary.bytes, uuid.begin());
  return Status::OK();
}

Status readUid(const Element& e, std::array<char, SessionId::kUidBytes>& uid) {
  if (!e.is(Type::kBinary)) return wrongTypeOf(e, "binData");
  const std::string_view bytes = e.asBinary().bytes;
  if (bytes.size() != uid.size())
    return {ErrorCode::kBadValue, "lsid.uid must be the digest of a user: 32 bytes of binary data"};
  std::ranges::copy(bytes, uid.begin());
  return Status::OK();
}

/// Fields that have been read. A repeated field is refused: a reader that takes the first value and one that takes the
/// last would see different sessions.
struct Seen {
  bool id = false, uid = false, txnNumber = false, txnUUID = false;
};

Status noteSeen(const Element& e, bool& seen) {
  if (std::exchange(seen, true))
    return {ErrorCode(40413), "BSON field 'lsid." + std::string(e.name()) + "' is a duplicate field"};
  return Status::OK();
}

Status readPart(const Element& e, SessionId& session, Seen& seen) {
  if (e.name() == "id") {
    TROUPE_TRY(noteSeen(e, seen.id));
    return readUuid(e, session.id);
  }
  if (e.name() == "uid") {
    TROUPE_TRY(noteSeen(e, seen.uid));
    return readUid(e, session.uid);
  }
  if (e.name() == "txnUUID") {
    TROUPE_TRY(noteSeen(e, seen.txnUUID));
    return readUuid(e, session.txnUUID.emplace());
  }
  if (e.name() != "txnNumber")
    return {ErrorCode::kUnknownField, "BSON field 'lsid." + std::string(e.name()) + "' is an unknown field."};
  TROUPE_TRY(noteSeen(e, seen.txnNumber));
  if (!e.is(Type::kInt64)) return wrongTypeOf(e, "long");
  session.txnNumber = e.asInt64();
  return Status::OK();
}

Status missing(std::string_view field) {
  return {ErrorCode::kMissingRequiredField,
          "BSON field 'lsid." + std::string(field) + "' is missing but a required field"};
}

void appendNumber(std::string& key, int64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  key.append(bytes, sizeof bytes);
}

}  // namespace

StatusWith<SessionId> SessionId::parse(bson::View document, std::string_view owner) {
  SessionId session;
  Seen seen;
  if (!document["id"].ok()) return missing("id");
  for (const Element& e : document) TROUPE_TRY(readPart(e, session, seen));
  if (!seen.uid) {
    if (owner.size() != kUidBytes) return missing("uid");
    std::ranges::copy(owner, session.uid.begin());
  }
  if (session.txnNumber && !session.txnUUID)
    return Status(ErrorCode::kInvalidOptions, "lsid.txnNumber needs lsid.txnUUID beside it");
  if (session.txnNumber && *session.txnNumber < 0)
    return Status(ErrorCode::kInvalidOptions, "lsid.txnNumber cannot be negative");
  return session;
}

SessionId SessionId::of(std::string_view familyKey, std::string_view childKey) {
  const size_t size = childKey.size();
  constexpr size_t kUuid = sizeof(Uuid), kBoth = sizeof(Uuid) + sizeof(int64_t);
  invariant(familyKey.size() == kFamilyBytes && (size == 0 || size == kUuid || size == kBoth), "the keys of a session");
  SessionId session;
  std::ranges::copy(familyKey.substr(0, kIdBytes), session.id.begin());
  std::ranges::copy(familyKey.substr(kIdBytes), session.uid.begin());
  if (size >= kUuid) std::ranges::copy(childKey.substr(0, kUuid), session.txnUUID.emplace().begin());
  if (size == kBoth) std::memcpy(&session.txnNumber.emplace(), childKey.data() + kUuid, sizeof(int64_t));
  return session;
}

bson::Document SessionId::toDocument() const {
  const auto uuid = [](const std::array<char, 16>& bytes) {
    return bson::Binary{bson::kBinaryUuid, {bytes.data(), bytes.size()}};
  };
  bson::Builder builder;
  builder.append("id", uuid(id)).append("uid", bson::Binary{bson::kBinaryGeneric, {uid.data(), uid.size()}});
  if (txnNumber) builder.append("txnNumber", *txnNumber);
  if (txnUUID) builder.append("txnUUID", uuid(*txnUUID));
  return builder.finish();
}

std::string SessionId::childKey() const {
  std::string key;
  if (txnUUID) key.append(txnUUID->data(), txnUUID->size());
  if (txnNumber) appendNumber(key, *txnNumber);
  return key;
}

}  // namespace troupe::storage
