#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/engine/engine.hpp"

namespace troupe::storage {

class SessionPool;

/// The second phase of dropping (CAT-024): tables whose catalog entry is gone wait here until nothing can need them any
/// more. A token is what keeps a table alive: the shared state of its collection or index; while someone else holds it
/// the table stays. Thread-safe; `reapOnce` is called from time to time by a detached actor (CAT-027).
class DropReaper {
 public:
  struct Pending {
    std::string ident;
    Timestamp dropTime;               ///< zero on a node without timestamps
    std::weak_ptr<const void> token;  ///< alive while an operation still uses the table
  };
  void add(std::string ident, Timestamp dropTime, std::weak_ptr<const void> token);
  /// Gives up dropping a table that is wanted again (CAT-026); true when it was pending.
  bool keep(std::string_view ident);
  size_t size() const;
  bool isPending(std::string_view ident) const;

  /// Drops every table whose drop time is older than both times (or zero) and which nobody uses; the others stay. A
  /// busy table is tried again next time. *Blocks* briefly. Returns how many were dropped.
  size_t reapOnce(Engine& engine, SessionPool& pool, Timestamp lastCheckpoint, Timestamp oldest);
  /// Forgets all (before a rollback to a stable time).
  void clear();

 private:
  mutable std::mutex mutex_;
  std::vector<Pending> pending_;
};

}  // namespace troupe::storage
