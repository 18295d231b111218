#include "actors/server/message_memory.hpp"

#include <string>

namespace troupe::server {

namespace {
constexpr int64_t kMiB = 1024 * 1024;
/// What one owner may hold, as a multiple of what is left: alone three quarters of all, each of two three sevenths.
constexpr int64_t kTimesTheRest = 3;
constexpr const char* kOfUnknown = "preAuthMessageMemoryMB";
constexpr const char* kOfAll = "partialMessageMemoryMB";
}  // namespace

void MessageMemory::Pool::add(const std::string& owner, int64_t more) {
  if (more == 0) return;
  bytes += more;
  const auto held = owners.try_emplace(owner, 0).first;
  held->second += more;
  if (held->second == 0) owners.erase(held);
}

Status MessageMemory::Share::resize(int64_t bytes, bool trusted, const MessageOwner& owner) {
  const char* passed = bound(bytes, trusted, owner.key);
  if (!passed) return Status::OK();
  sums_->refused.fetch_add(1, std::memory_order_relaxed);
  return {ErrorCode::kExceededMemoryLimit,
          "incomplete messages and unread answers of " + owner.name + " or of " +
              (passed == kOfUnknown ? "all clients that have not authenticated" : "all clients") +
              " take all the memory they may (" + passed + ")"};
}

const char* MessageMemory::Share::bound(int64_t bytes, bool trusted, const std::string& owner) {
  if (bytes == 0 && bytes_ == 0) return nullptr;
  const int64_t bytesBefore = bytes_;
  const bool trustedBefore = trusted_;
  const std::string ownerBefore = owner_;
  const std::lock_guard lock(sums_->mutex);
  set(bytes, trusted, owner);
  if (bytes <= bytesBefore) return nullptr;
  const bool tooMuchUnknown = !trusted && isTooMuch(sums_->unknown, parameters_.preAuthMessageMemoryMB);
  if (!tooMuchUnknown && !isTooMuch(sums_->all, parameters_.partialMessageMemoryMB)) return nullptr;
  set(bytesBefore, trustedBefore, ownerBefore);
  return tooMuchUnknown ? kOfUnknown : kOfAll;
}

bool MessageMemory::Share::isTooMuch(const Pool& pool, int64_t limitMB) const {
  const int64_t left = limitMB * kMiB - pool.bytes;
  if (left < 0) return true;
  return pool.bytes > bytes_ && pool.owners.at(owner_) > kTimesTheRest * left;  // a message alone may take all
}

void MessageMemory::Share::set(int64_t bytes, bool trusted, const std::string& owner) {
  sums_->all.add(owner_, -bytes_);
  if (!trusted_) sums_->unknown.add(owner_, -bytes_);
  bytes_ = bytes;
  trusted_ = trusted;
  owner_ = owner;
  sums_->all.add(owner_, bytes_);
  if (!trusted_) sums_->unknown.add(owner_, bytes_);
}

}  // namespace troupe::server
