#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::storage {
class Catalog;
}

namespace troupe::server {

/// Where users and user-defined roles are kept.
inline const storage::Namespace kUsers("admin", "system.users");
inline const storage::Namespace kRoles("admin", "system.roles");

/// Whether its documents say what users may do.
inline bool keepsRights(const storage::Namespace& ns) { return ns == kUsers || ns == kRoles; }

/// The lock under which users and roles are read, in every role of the node: a change of it keeps nobody from logging
/// in.
storage::HeldLock lockToReadRights(storage::OperationContext& operation);

/// Reads of one of these collections, or of another small one without which no request is served. Each is an operation
/// of its own, of immediate priority: an operator can log in while all tickets are out, and while the node's role
/// changes. Thread-safe; calls read storage on the caller's thread and never wait. Errors: LockTimeout while the global
/// lock is taken exclusively (the node shuts down), DataCorruptionDetected.
class RightsCollection {
 public:
  RightsCollection(storage::Catalog& catalog, const storage::OperationServices& services, storage::Namespace ns)
      : catalog_(catalog), services_(services), ns_(std::move(ns)) {}

  /// The document of that `_id`; nothing when there is none.
  StatusWith<std::optional<bson::Document>> find(std::string_view id) const;
  /// Calls `use` with each document until it answers false.
  Status each(const std::function<bool(bson::View)>& use) const;
  /// A time that no document which has been read by now is later than; zero on a node that stands alone.
  bson::Timestamp lastApplied() const { return services_.times ? services_.times->lastApplied() : bson::Timestamp(); }

 private:
  storage::Catalog& catalog_;
  const storage::OperationServices services_;
  const storage::Namespace ns_;
};

}  // namespace troupe::server
