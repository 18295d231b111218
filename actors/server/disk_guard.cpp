#include "actors/server/disk_guard.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kUsualReserve = 512 * kMiB;
/// Three files of the engine's journal, which a start needs beside those that are there.
constexpr int64_t kJournal = 96 * kMiB;
/// The disk is measured this many times while writers fill a space as large as the reserve, so that their writes since
/// the last measurement are only a small part of it.
constexpr int64_t kLooksInAReserve = 16;
constexpr int64_t kLookAtLeastEvery = 32 * kMiB;

/// A tenth of a small disk is less than the next file of the journal.
int64_t reserveFitting(int64_t disk) {
  return std::max(std::min(kUsualReserve, disk / 10), std::min(kJournal, disk / 3));
}

/// Set below the threshold, and cleared a quarter of it above: no flicker at the edge.
bool isBelow(int64_t left, int64_t threshold, bool before) {
  return threshold > 0 && left < threshold + (before ? threshold / 4 : 0);
}

std::string megabytes(int64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

}  // namespace

void DiskGuard::look() {
  written_.store(0, std::memory_order_relaxed);
  const auto space = environment_.diskSpace(directory_);
  if (!space) {
    lookAfter_.store(kLookAtLeastEvery, std::memory_order_relaxed);
    freeBytes_.store(-1, std::memory_order_relaxed);
    refusing_.store(false, std::memory_order_relaxed);
    stopsReplication_.store(false, std::memory_order_relaxed);
    return;
  }
  const int64_t configured = reserveMB_.load(std::memory_order_relaxed);
  const int64_t reserve = configured < 0 ? reserveFitting(space->total) : configured * kMiB;
  // Dirty cache is what the next checkpoint writes. Until then the journal, which holds the same data, keeps its space.
  const int64_t unwritten = reserve > 0 ? engine_.statistics().cacheBytesDirty : 0;
  lookAfter_.store(std::clamp(reserve / kLooksInAReserve, int64_t{1} << 16, kLookAtLeastEvery),
                   std::memory_order_relaxed);
  freeBytes_.store(space->free, std::memory_order_relaxed);
  reserveBytes_.store(reserve, std::memory_order_relaxed);
  decide(space->free, unwritten);
}

void DiskGuard::decide(int64_t free, int64_t unwritten) {
  const int64_t left = free - unwritten, reserve = reserveBytes();
  const auto figures = [&] {
    return bson::doc("free", megabytes(free), "notYetWritten", megabytes(unwritten), "reserve", megabytes(reserve));
  };
  const bool stops = isBelow(left, reserve / 2, stopsReplication());
  if (stopsReplication_.exchange(stops) != stops) {
    if (stops)
      log_.error(log::Component::kStorage, 22463, "disk",
                 "Half of the reserve on the disk is used: a member takes nothing from others until there is space",
                 figures());
    else log_.info(log::Component::kStorage, 22464, "disk", "A member takes data from others again", figures());
  }
  const bool full = isBelow(left, reserve, refusing());
  if (refusing_.exchange(full) == full) return;
  if (full) {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    log_.error(log::Component::kStorage, 22461, "disk",
               "The disk is nearly full: writes that add data are refused; reads and deletes go on", figures());
  } else {
    log_.info(log::Component::kStorage, 22462, "disk", "There is space on the disk again: writes are taken", figures());
  }
}

Status DiskGuard::refusal() const {
  return {ErrorCode::kOutOfDiskSpace,
          "the disk is nearly full: " + megabytes(freeBytes()) + " free, of which " + megabytes(reserveBytes()) +
              " are kept for the journal and checkpoints (diskSpaceReserveMB); delete data or add space"};
}

}  // namespace troupe::server
