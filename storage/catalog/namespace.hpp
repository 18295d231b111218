#pragma once
#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

inline constexpr size_t kMaxDatabaseNameBytes = 63;
inline constexpr size_t kMaxNamespaceBytes = 255;

/// A collection's full name, "database.collection"; with an empty collection part it names a database. Value type;
/// parts are views into one string. Construction does not validate: names from clients pass `validate` or `parse`
/// first.
class Namespace {
 public:
  Namespace() = default;
  Namespace(std::string_view db, std::string_view collection);
  /// Splits at the first dot and validates. Errors: InvalidNamespace.
  static StatusWith<Namespace> parse(std::string_view full);
  /// Splits at the first dot without validation, for names read back from disk.
  static Namespace split(std::string_view full);

  std::string_view db() const { return std::string_view(full_).substr(0, dbSize_); }
  std::string_view collection() const {
    return dbSize_ < full_.size() ? std::string_view(full_).substr(dbSize_ + 1) : std::string_view();
  }
  const std::string& toString() const { return full_; }
  bool empty() const { return full_.empty(); }

  /// "db.system.*": made by the server; most are closed to users' writes.
  bool isSystem() const { return collection().starts_with("system."); }
  /// Collections of "local": never replicated, logged tables.
  bool isLocal() const { return db() == "local"; }
  /// Members of a replica set keep the same documents here: all but what a node keeps for itself (OPL-008).
  bool isReplicated() const { return !isLocal() && collection() != "system.profile"; }

  /// What a member of a replica set keeps for itself beside `local.system.*`: its vote, the end of its log.
  bool isStateOfMember() const { return isLocal() && collection().starts_with("replset."); }

  /// The node needs it to serve anybody at all: users and roles, and what members and machines keep for themselves.
  bool isEssential() const { return isLocal() || db() == "config" || (db() == "admin" && isSystem()); }

  bool operator==(const Namespace& other) const { return full_ == other.full_; }
  std::strong_ordering operator<=>(const Namespace& other) const { return full_ <=> other.full_; }

 private:
  std::string full_;
  size_t dbSize_ = 0;
};

/// InvalidNamespace unless the name is 1 to 63 bytes and free of / \ . space " $ and NUL.
Status validateDatabaseName(std::string_view db);
/// InvalidNamespace unless both parts may be addressed by a command: the collection part is not empty, does not begin
/// or end with a dot and holds no NUL; the whole is at most 255 bytes.
Status validateNamespace(const Namespace& ns);
/// As validateNamespace, and also that users may create it: no `$`, and of "system." names only those the server knows
/// (system.views, system.js, system.users, system.buckets.*, system.profile ...).
Status validateForCreate(const Namespace& ns);

}  // namespace troupe::storage

template <>
struct std::hash<troupe::storage::Namespace> {
  size_t operator()(const troupe::storage::Namespace& ns) const { return std::hash<std::string>{}(ns.toString()); }
};
