#include "storage/transaction/session_pool.hpp"

#include <algorithm>
#include <utility>

namespace troupe::storage {
namespace {

/// Threads are numbered as they first come, so that a small pool of them gets distinct stripes.
size_t threadNumber() {
  static std::atomic<size_t> next{0};
  thread_local const size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

SessionLease::SessionLease(SessionLease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), slot_(std::move(other.slot_)) {}

SessionLease& SessionLease::operator=(SessionLease&& other) noexcept {
  if (this != &other) {
    giveBack();
    pool_ = std::exchange(other.pool_, nullptr);
    slot_ = std::move(other.slot_);
  }
  return *this;
}

void SessionLease::giveBack() {
  if (slot_) pool_->giveBack(std::move(slot_));
  pool_ = nullptr;
}

SessionPool::SessionPool(Engine& engine, int maxSessions) : engine_(engine), maxSessions_(maxSessions) {
  for (Stripe& stripe : stripes_) stripe.idle.reserve(static_cast<size_t>(std::min(maxSessions, 64)));
}

SessionPool::~SessionPool() { closeIdle(); }

std::unique_ptr<SessionPool::Slot> SessionPool::takeIdle() {
  const size_t own = threadNumber();
  for (size_t i = 0; i < kStripes; ++i) {
    Stripe& stripe = stripes_[(own + i) % kStripes];
    std::lock_guard lock(stripe.mutex);
    if (stripe.idle.empty()) continue;
    std::unique_ptr<Slot> slot = std::move(stripe.idle.back());
    stripe.idle.pop_back();
    return slot;
  }
  return nullptr;
}

StatusWith<SessionLease> SessionPool::borrow() {
  while (std::unique_ptr<Slot> slot = takeIdle()) {
    if (catchUp(*slot)) return SessionLease(this, std::move(slot));
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (open_.fetch_add(1, std::memory_order_relaxed) >= maxSessions_) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return Status(ErrorCode::kTemporarilyUnavailable,
                  "all " + std::to_string(maxSessions_) + " storage sessions are in use; retry later");
  }
  const uint64_t forgotten = forgottenCount_.load(std::memory_order_acquire);
  auto session = engine_.openSession();
  if (!session.isOK()) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return session.status();
  }
  auto slot = std::make_unique<Slot>();
  slot->session = std::move(session).value();
  slot->forgotten = forgotten;
  return SessionLease(this, std::move(slot));
}

bool SessionPool::catchUp(Slot& slot) {
  if (slot.forgotten == forgottenCount_.load(std::memory_order_acquire)) return true;
  std::lock_guard lock(forgottenMutex_);
  const uint64_t count = forgottenCount_.load(std::memory_order_relaxed);
  const uint64_t missed = count - slot.forgotten;
  if (missed > forgotten_.size()) return false;
  for (size_t i = forgotten_.size() - missed; i < forgotten_.size(); ++i) slot.session->forgetTable(forgotten_[i]);
  slot.forgotten = count;
  return true;
}

void SessionPool::giveBack(std::unique_ptr<Slot> slot) {
  slot->session->rollback();
  Stripe& stripe = stripes_[threadNumber() % kStripes];
  {
    // The check is made under the stripe's lock, which forgetTable takes after it has counted: no session lies idle
    // that has not been told.
    std::lock_guard lock(stripe.mutex);
    if (catchUp(*slot)) {
      stripe.idle.push_back(std::move(slot));
      return;
    }
  }
  open_.fetch_sub(1, std::memory_order_relaxed);
}

void SessionPool::forgetTable(const Table& table) {
  {
    std::lock_guard lock(forgottenMutex_);
    if (forgotten_.size() >= kForgottenKept)
      forgotten_.erase(forgotten_.begin(), forgotten_.begin() + kForgottenKept / 2);
    forgotten_.push_back(table);
    forgottenCount_.fetch_add(1, std::memory_order_release);
  }
  for (Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.mutex);
    const size_t kept = stripe.idle.size();
    std::erase_if(stripe.idle, [this](const std::unique_ptr<Slot>& slot) { return !catchUp(*slot); });
    open_.fetch_sub(static_cast<int>(kept - stripe.idle.size()), std::memory_order_relaxed);
  }
}

void SessionPool::closeIdle() {
  for (Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.mutex);
    open_.fetch_sub(static_cast<int>(stripe.idle.size()), std::memory_order_relaxed);
    stripe.idle.clear();
  }
}

SessionPool::Statistics SessionPool::statistics() const {
  int64_t idle = 0;
  for (const Stripe& stripe : stripes_) {
    std::lock_guard lock(stripe.mutex);
    idle += static_cast<int64_t>(stripe.idle.size());
  }
  const int64_t open = open_.load(std::memory_order_relaxed);
  return {.open = open, .lent = open - idle, .max = maxSessions_};
}

}  // namespace troupe::storage
