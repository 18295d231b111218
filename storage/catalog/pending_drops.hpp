#pragma once
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Databases whose collections are gone, while their drop waits for a majority to know it (DRP-005): what others
/// created in one meanwhile would go with it. Thread-safe.
class PendingDatabaseDrops {
 public:
  /// A drop under way, to the end of its life. Move-only; must not outlive what has begun it.
  class Drop {
   public:
    Drop(PendingDatabaseDrops& all, std::string db) : all_(&all), db_(std::move(db)) {}
    Drop(Drop&& other) noexcept : all_(std::exchange(other.all_, nullptr)), db_(std::move(other.db_)) {}
    Drop& operator=(Drop&&) = delete;
    ~Drop() {
      if (all_) all_->end(db_);
    }

   private:
    PendingDatabaseDrops* all_;
    std::string db_;
  };

  /// To be called under the database's exclusive lock: who creates in it looks under a lock of its own. Errors:
  /// DatabaseDropPending (another drop of it is under way).
  StatusWith<Drop> begin(std::string db) {
    const std::lock_guard lock(mutex_);
    if (!databases_.insert(db).second) return isPending(db);
    return Drop(*this, std::move(db));
  }
  /// Errors: DatabaseDropPending.
  Status check(std::string_view db) const {
    const std::lock_guard lock(mutex_);
    return databases_.contains(db) ? isPending(db) : Status::OK();
  }

 private:
  static Status isPending(std::string_view db) {
    return {ErrorCode::kDatabaseDropPending,
            "the database " + std::string(db) + " is being dropped: try again when that has ended"};
  }
  void end(const std::string& db) {
    const std::lock_guard lock(mutex_);
    databases_.erase(db);
  }

  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> databases_;
};

}  // namespace troupe::storage
