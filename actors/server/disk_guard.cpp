#include "actors/server/disk_guard.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kUsualReserve = 512 * kMiB;
/// The disk is measured this many times while writers fill a space as large as the reserve, so that their writes since
/// the last measurement are only a small part of it.
constexpr int64_t kLooksInAReserve = 16;
constexpr int64_t kLookAtLeastEvery = 32 * kMiB;

std::string megabytes(int64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

}  // namespace

void DiskGuard::look() {
  written_.store(0, std::memory_order_relaxed);
  const auto space = environment_.diskSpace(directory_);
  if (!space) {
    lookAfter_.store(kLookAtLeastEvery, std::memory_order_relaxed);
    freeBytes_.store(-1, std::memory_order_relaxed);
    refusing_.store(false, std::memory_order_relaxed);
    return;
  }
  const int64_t configured = reserveMB_.load(std::memory_order_relaxed);
  const int64_t reserve = configured < 0 ? std::min(kUsualReserve, space->total / 10) : configured * kMiB;
  // Dirty cache is what the next checkpoint writes. Until then the journal, which holds the same data, keeps its space.
  const int64_t unwritten = reserve > 0 ? engine_.statistics().cacheBytesDirty : 0;
  const bool refused = refusing_.load(std::memory_order_relaxed);
  const bool full =
      reserve > 0 && space->free - unwritten < reserve + (refused ? reserve / 4 : 0);  // no flicker at the edge
  lookAfter_.store(std::clamp(reserve / kLooksInAReserve, int64_t{1} << 16, kLookAtLeastEvery),
                   std::memory_order_relaxed);
  freeBytes_.store(space->free, std::memory_order_relaxed);
  reserveBytes_.store(reserve, std::memory_order_relaxed);
  if (refusing_.exchange(full) == full) return;
  const auto figures =
      bson::doc("free", megabytes(space->free), "notYetWritten", megabytes(unwritten), "reserve", megabytes(reserve));
  if (full) {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    log_.error(log::Component::kStorage, 22447, "disk",
               "The disk is nearly full: writes that add data are refused; reads and deletes go on", figures);
  } else {
    log_.info(log::Component::kStorage, 22448, "disk", "There is space on the disk again: writes are taken", figures);
  }
}

Status DiskGuard::refusal() const {
  return {ErrorCode::kOutOfDiskSpace,
          "the disk is nearly full: " + megabytes(freeBytes()) + " free, of which " + megabytes(reserveBytes()) +
              " are kept for the journal and checkpoints (diskSpaceReserveMB); delete data or add space"};
}

}  // namespace troupe::server
