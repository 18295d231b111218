#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "actors/server/user_key.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// What a logical session is known by: the 16 bytes of its id, and the digest (32 bytes) of the users that began it.
/// The same UUID of other users is another session. A plain value. (SES-001)
class SessionKey {
 public:
  static constexpr size_t kIdBytes = 16, kOwnerBytes = 32, kBytes = kIdBytes + kOwnerBytes;

  SessionKey() : bytes_{} {}
  /// `id`: 16 bytes. `owner`: a digest of 32 bytes; empty stands for no user.
  SessionKey(std::string_view id, std::string_view owner);
  /// Of the id of a stored session, {id, uid}, or the beginning of a longer one.
  /// Errors: those of idOf; Unauthorized (no digest as `uid`).
  static StatusWith<SessionKey> ofStored(bson::View lsid);

  /// The 16 bytes of a session's id. Errors: MissingRequiredField, TypeMismatch, InvalidUUID, UnknownField (a field
  /// that no session's id has).
  static StatusWith<std::string_view> idOf(bson::View lsid);
  /// The digest of the users' databases, names and ids, in whatever order; `nobody` for none. No two sets of users have
  /// the same, however their names are made.
  static std::string ownerOf(std::span<const UserKey> users);
  static std::string ownerOf(const UserKey& user) { return ownerOf(std::span(&user, 1)); }
  /// The digest that stands for no user.
  static const std::string& nobody();

  std::string_view bytes() const { return {bytes_.data(), kBytes}; }
  std::string_view id() const { return bytes().substr(0, kIdBytes); }
  std::string_view owner() const { return bytes().substr(kIdBytes); }
  /// {id: UUID, uid: digest}: as config.system.sessions and config.transactions name the session.
  bson::Document toDocument() const;

  bool operator==(const SessionKey&) const = default;

 private:
  std::array<char, kBytes> bytes_;
};

/// Hash of the id alone: a table that uses it has the sessions of all owners with one id in one bucket.
struct SessionIdHash {
  size_t operator()(const SessionKey& key) const noexcept { return std::hash<std::string_view>()(key.id()); }
  /// Of the bytes of a key.
  size_t operator()(std::string_view bytes) const noexcept {
    return std::hash<std::string_view>()(bytes.substr(0, SessionKey::kIdBytes));
  }
};

}  // namespace troupe::server

template <>
struct std::hash<troupe::server::SessionKey> {
  size_t operator()(const troupe::server::SessionKey& key) const noexcept {
    return std::hash<std::string_view>()(key.bytes());
  }
};
