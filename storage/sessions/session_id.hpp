#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The id of a logical session, {id: UUID, uid: digest of the user, txnNumber, txnUUID} (SES-001). One with a `txnUUID`
/// is a child of the session with the same `id` and `uid`: a server's own, for an internal transaction; one that also
/// has a `txnNumber` belongs to the retryable write of that number on the parent (SES-002). A value.
struct SessionId {
  static constexpr size_t kIdBytes = 16, kUidBytes = 32, kFamilyBytes = kIdBytes + kUidBytes;
  using Uuid = std::array<char, 16>;

  std::array<char, kIdBytes> id{};
  std::array<char, kUidBytes> uid{};
  std::optional<int64_t> txnNumber;
  std::optional<Uuid> txnUUID;

  bool operator==(const SessionId&) const = default;

  /// `owner`: the uid (32 bytes) of an id without one; empty: `uid` has to be there. Errors: MissingRequiredField,
  /// TypeMismatch, InvalidUUID, BadValue (a `uid` that is no digest), UnknownField, 40413 (a field twice),
  /// InvalidOptions (a `txnNumber` without `txnUUID`, or a negative one).
  static StatusWith<SessionId> parse(bson::View document, std::string_view owner = {});
  /// The session that `familyKey` and `childKey` gave these keys. Throws BrokenInvariant for what is none of them.
  static SessionId of(std::string_view familyKey, std::string_view childKey);
  /// In the order of fields in which records and entries have it.
  bson::Document toDocument() const;

  bool isChild() const { return txnUUID.has_value(); }
  /// The same for a session and all its children: the 48 bytes of `id` and `uid`.
  std::string familyKey() const {
    const auto bytes = familyBytes();
    return {bytes.data(), bytes.size()};
  }
  /// The same, for looks into a table, which each numbered command takes.
  std::array<char, kFamilyBytes> familyBytes() const {
    std::array<char, kFamilyBytes> bytes;
    std::copy(uid.begin(), uid.end(), std::copy(id.begin(), id.end(), bytes.begin()));
    return bytes;
  }
  /// Which session of its family it is; empty for the parent.
  std::string childKey() const;
};

}  // namespace troupe::storage
