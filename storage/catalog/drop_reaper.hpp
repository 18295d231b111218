#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::storage {

class SessionPool;

/// The second phase of dropping (CAT-024): tables whose catalog entry is gone wait here until nothing can need them any
/// more. A token is what keeps a table alive: the shared state of its collection or index; while someone else holds it
/// the table stays. Thread-safe; `reapOnce` is called from time to time by a detached actor (CAT-027).
class DropReaper {
 public:
  /// `onDropped` hears of each table that is gone.
  explicit DropReaper(std::function<void(const std::string& ident)> onDropped = nullptr)
      : onDropped_(std::move(onDropped)) {}

  struct Pending {
    std::string ident;
    Timestamp dropTime;               ///< zero on a node without timestamps
    std::weak_ptr<const void> token;  ///< alive while an operation still uses the table
    bool dropping = false;            ///< a reap is removing it at this moment
    bool awaitsCheckpoint = false;    ///< one that begins after the drop
  };
  /// How the disk learns that no row of the catalog names the table any more. The engine makes the table's own drop
  /// durable at once: before the row's removal it would leave a collection without its table, which no start opens.
  enum class RowRemoval {
    kLogged,      ///< by the journal, before the drop of the table, or there never was such a row
    kCheckpoint,  ///< by the next checkpoint (noteCheckpoint)
  };
  void add(std::string ident, Timestamp dropTime, std::weak_ptr<const void> token,
           RowRemoval removal = RowRemoval::kLogged);
  /// Keeps a table from being reaped for as long as the answer is held (CAT-026), also when its drop is pending, or
  /// becomes so later. SnapshotUnavailable when it is being dropped at this moment.
  StatusWith<std::shared_ptr<const void>> use(const std::string& ident);
  /// Gives up dropping a table that is wanted again; true when it was pending.
  bool keep(std::string_view ident);
  size_t size() const;
  bool isPending(std::string_view ident) const;
  /// All that are pending.
  std::vector<std::string> idents() const;
  /// A checkpoint has ended that began after these were dropped.
  void noteCheckpoint(const std::vector<std::string>& idents);
  /// These tables go, whatever the times, as soon as nobody uses them: a checkpoint holds their drops, and nothing goes
  /// back behind it.
  void release(const std::vector<std::string>& idents);

  /// Drops every table whose drop time is older than both times (or zero), which awaits no checkpoint and which nobody
  /// uses; the others stay. A busy table is tried again next time. *Blocks* briefly. Returns how many were dropped.
  size_t reapOnce(Engine& engine, SessionPool& pool, Timestamp lastCheckpoint, Timestamp oldest);

 private:
  bool used(const Pending& pending) const;

  std::function<void(const std::string&)> onDropped_;
  mutable std::mutex mutex_;
  std::vector<Pending> pending_;
  std::map<std::string, std::weak_ptr<const void>, std::less<>> uses_;
};

}  // namespace troupe::storage
