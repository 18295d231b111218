#include "actors/server/message_memory.hpp"

#include <string>

namespace troupe::server {

namespace {
constexpr int64_t kMiB = 1024 * 1024;
}  // namespace

Status MessageMemory::Share::resize(int64_t bytes, bool trusted) {
  if (bytes == 0 && all_ == 0) return Status::OK();
  const int64_t more = bytes - all_;
  const int64_t before = all_;
  const bool unknownBefore = unknown_ > 0;
  set(bytes, trusted);
  if (more <= 0) return Status::OK();
  const bool tooMuchUnknown = !trusted && sums_->unknown.load(std::memory_order_relaxed) >
                                              parameters_.preAuthMessageMemoryMB.load(std::memory_order_relaxed) * kMiB;
  const bool tooMuch = sums_->all.load(std::memory_order_relaxed) >
                       parameters_.partialMessageMemoryMB.load(std::memory_order_relaxed) * kMiB;
  if (!tooMuchUnknown && !tooMuch) return Status::OK();
  set(before, !unknownBefore);
  sums_->refused.fetch_add(1, std::memory_order_relaxed);
  return {ErrorCode::kExceededMemoryLimit,
          std::string("incomplete messages of ") +
              (tooMuchUnknown ? "clients that have not authenticated" : "clients") + " take all the memory they may (" +
              (tooMuchUnknown ? "preAuthMessageMemoryMB" : "partialMessageMemoryMB") + ")"};
}

void MessageMemory::Share::set(int64_t bytes, bool trusted) {
  const int64_t unknown = trusted ? 0 : bytes;
  if (bytes != all_) sums_->all.fetch_add(bytes - all_, std::memory_order_relaxed);
  if (unknown != unknown_) sums_->unknown.fetch_add(unknown - unknown_, std::memory_order_relaxed);
  all_ = bytes;
  unknown_ = unknown;
}

}  // namespace troupe::server
