#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "actors/environment/environment.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/log/log.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::server {

/// Refuses writes that grow the data while the disk below the data directory is nearly full, so that the journal and
/// the checkpoints have room left: reads and deletes go on, and writes come back by themselves when there is space
/// again. Data that the engine still holds in memory counts as used.
///
/// What a member applies or copies from others may use half of the reserve. The disks of a set fill up alike: its
/// primary refuses first, and the members still get what it has taken, and the deletes that make room.
///
/// Writers look at the disk each time a part of the reserve may have been written; so does the DiskWatch, from time to
/// time. Any thread.
class DiskGuard {
 public:
  /// `reserveMB`: the space to keep free, in MiB; below zero: the smaller of 512 MiB and a tenth of the disk, and on
  /// a small one enough for the journal, up to a third of the disk. 0 never refuses.
  DiskGuard(const Environment& environment, storage::Engine& engine, std::string directory,
            const std::atomic<int64_t>& reserveMB, log::Log& log)
      : environment_(environment),
        engine_(engine),
        directory_(std::move(directory)),
        reserveMB_(reserveMB),
        log_(log) {}

  /// To be asked before a write that adds `bytes`. OutOfDiskSpace when such writes are refused.
  Status roomFor(size_t bytes) {
    note(bytes);
    if (!refusing_.load(std::memory_order_relaxed)) [[likely]]
      return Status::OK();
    return refusal();
  }
  /// Likewise, before a member writes what comes from another one. It waits, and asks again.
  Status roomForReplicated(size_t bytes) {
    note(bytes);
    if (!stopsReplication_.load(std::memory_order_relaxed)) [[likely]]
      return Status::OK();
    return refusal();
  }
  /// Looks at the disk, and decides.
  void look();

  bool refusing() const { return refusing_.load(std::memory_order_relaxed); }
  bool stopsReplication() const { return stopsReplication_.load(std::memory_order_relaxed); }
  int64_t freeBytes() const {
    return freeBytes_.load(std::memory_order_relaxed);
  }  ///< when last looked at; -1: unknown
  int64_t reserveBytes() const { return reserveBytes_.load(std::memory_order_relaxed); }
  int64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }  ///< times that writes became refused

 private:
  void note(size_t bytes) {
    const auto more = static_cast<int64_t>(bytes);
    if (written_.fetch_add(more, std::memory_order_relaxed) + more >= lookAfter_.load(std::memory_order_relaxed))
      look();
  }
  /// `unwritten`: bytes that a checkpoint would still write.
  void decide(int64_t free, int64_t unwritten);
  Status refusal() const;

  const Environment& environment_;
  storage::Engine& engine_;
  const std::string directory_;
  const std::atomic<int64_t>& reserveMB_;
  log::Log& log_;
  std::atomic<int64_t> written_{0};    ///< bytes since the last look
  std::atomic<int64_t> lookAfter_{0};  ///< bytes
  std::atomic<int64_t> freeBytes_{-1};
  std::atomic<int64_t> reserveBytes_{0};
  std::atomic<int64_t> refusals_{0};
  std::atomic<bool> refusing_{false}, stopsReplication_{false};
};

}  // namespace troupe::server
