#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Contents of the simulated disk: for each table the rows that a restart finds. A value: copy it to try several
/// futures.
struct DeterministicDisk {
  struct TableImage {
    TableOptions options;
    std::map<std::string, std::string, std::less<>> rows;
  };
  std::map<std::string, TableImage, std::less<>> tables;
  Timestamp recoveryTimestamp;
};

/// The engine contract in memory, for simulation: no threads, no clock, no files, and the same calls give the same
/// outcome. A crash keeps exactly what had been made durable: logged tables as of the last flushLog or checkpoint,
/// unlogged ones as of the last checkpoint, and which tables exist. One thread at a time.
/// Stricter than WiredTiger where that one is lenient by chance: a table with changes since the last checkpoint cannot
/// be dropped. There are no files: a backup is a disk, see `backupDisk`.
class DeterministicEngine : public Engine {
 public:
  /// An operation about to reach the disk; a failure returned by the hook is its outcome: nothing was written.
  enum class DiskOperation { kFlushLog, kCheckpoint };
  using DiskFault = std::function<Status(DiskOperation)>;
  /// What a check of a table's blocks finds; OK where they are sound.
  using BlockFault = std::function<Status(std::string_view ident)>;

  /// Opens what is on the disk.
  static std::unique_ptr<DeterministicEngine> open(DeterministicDisk disk = {});

  /// The process dies: returns what survives. Afterwards the engine and its sessions answer ShutdownInProgress and may
  /// be destroyed in any order.
  virtual DeterministicDisk crash() = 0;
  /// The disk as a crash at this moment would leave it.
  virtual DeterministicDisk disk() const = 0;
  /// The disk which the copy of an open backup of this engine would be.
  virtual DeterministicDisk backupDisk(const Backup& backup) const = 0;
  /// Lets a simulation make flushes and checkpoints fail; empty for none.
  virtual void setDiskFault(DiskFault fault) = 0;
  /// Lets checks of blocks find damage; empty for none.
  virtual void setBlockFault(BlockFault fault) = 0;
  /// Bytes of the cache that the statistics give as unwritten: this engine has no cache.
  virtual void pretendDirty(int64_t bytes) = 0;
};

}  // namespace troupe::storage
