#include "storage/locks/locker.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <stdexcept>
#include <utility>

namespace troupe::storage {

namespace {

/// Counters have one writer: a plain addition that others may read.
template <class Number>
void bump(std::atomic<Number>& counter, Number by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

int64_t microsBetween(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

/// Whether a collection of that full name is of the database.
bool isWithin(std::string_view collection, std::string_view db) {
  return collection.size() > db.size() && collection[db.size()] == '.' && collection.starts_with(db);
}

constexpr unsigned bitOf(ResourceType type) { return 1U << static_cast<unsigned>(type); }

/// Types of which one lock is held, as a set of bits, before one of that type is requested.
constexpr unsigned typesAbove(ResourceType type) {
  unsigned above = 0;
  for (const ResourceType each : kLockPath)
    if (each != ResourceType::kStateTransition && each < type && type != ResourceType::kMutex) above |= bitOf(each);
  return above;
}

}  // namespace

Locker::~Locker() {
  if (pending_) giveUp(std::shared_ptr<LockWait>(pending_));
  units_ = 0;
  releaseAll();
  if (registered_) manager_.remove(*this);
  for (Chunk* chunk = first_.next.load(std::memory_order_relaxed); chunk;)
    delete std::exchange(chunk, chunk->next.load(std::memory_order_relaxed));
  delete waitFigures_.load(std::memory_order_relaxed);
}

void Locker::refuse(const std::string& why) { throw std::logic_error("locks: " + why); }

/// Start of every owner call: collects the outcome of the previous wait, refuses a second pending one, registers the
/// locker on first use.
void Locker::begin() {
  if (pending_) settle();
  if (pending_) refuse("a request is made while another one of the same operation is pending");
  if (!registered_) {
    manager_.add(*this);
    registered_ = true;
  }
  if (held_ == 0) clock_ = manager_.coarse_().time_since_epoch().count();
}

void Locker::settle() {
  LockWait& wait = *pending_;
  {
    const std::lock_guard lock(wait.mutex_);
    if (wait.state_ == LockWait::State::kWaiting) return;
  }
  countWait(wait);
  LockEntry& entry = *wait.entry_;
  if (wait.state_ == LockWait::State::kGranted) {
    if (wait.from_ == LockMode::kNone) ++held_;
    ++entry.count;
    clock_ = wait.ended_.time_since_epoch().count();
  } else if (wait.from_ == LockMode::kNone) {
    entry.head.store(nullptr, std::memory_order_release);
  }
  pending_.reset();
}

void Locker::countAcquired(ResourceType type, LockMode mode, uint32_t times) {
  const size_t figure = static_cast<size_t>(type) * kLockModes + static_cast<size_t>(mode);
  bump<uint32_t>(acquired_[figure], times);
  counted_.store(counted_.load(std::memory_order_relaxed) | uint64_t{1} << figure, std::memory_order_relaxed);
}

void Locker::countWait(const LockWait& wait) {
  const auto type = static_cast<size_t>(wait.head_->key.type), mode = static_cast<size_t>(wait.requested_);
  countAcquired(wait.head_->key.type, wait.requested_, wait.state_ == LockWait::State::kGranted ? 1 : 0);
  WaitFigures* figures = waitFigures_.load(std::memory_order_relaxed);
  if (!figures) {
    figures = new WaitFigures();
    waitFigures_.store(figures, std::memory_order_release);
  }
  bump<int64_t>(figures->figures[type][mode].waits);
  bump<int64_t>(figures->figures[type][mode].micros, microsBetween(wait.since_, wait.ended_));
}

void Locker::addStatistics(LockStatistics& sum) const {
  const WaitFigures* const waits = waitFigures_.load(std::memory_order_acquire);
  for (uint64_t left = counted_.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
    const auto figure = static_cast<size_t>(std::countr_zero(left));
    const size_t type = figure / kLockModes, mode = figure % kLockModes;
    LockStatistics::Figures& figures = sum.figures[type][mode];
    figures.acquireCount += acquired_[figure].load(std::memory_order_relaxed);
    if (!waits) [[likely]]
      continue;
    const auto& waited = waits->figures[type][mode];
    figures.acquireWaitCount += waited.waits.load(std::memory_order_relaxed);
    figures.timeAcquiringMicros += waited.micros.load(std::memory_order_relaxed);
    figures.deadlockCount += waited.deadlocks.load(std::memory_order_relaxed);
  }
}

LockStatistics Locker::statistics() const {
  LockStatistics mine;
  addStatistics(mine);
  return mine;
}

LockEntry* Locker::find(const LockHead& head) const {
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (LockEntry& entry : chunk->inUse())
      if (entry.head.load(std::memory_order_relaxed) == &head) return &entry;
  }
  return nullptr;
}

/// The lowest of the hierarchy comes first: it is the next one to be released.
LockEntry* Locker::find(const ResourceId& resource) const {
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    const std::span<LockEntry> entries = chunk->inUse();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      const LockHead* const head = entry->head.load(std::memory_order_relaxed);
      if (head && head->hash == resource.hash() && head->key.type == resource.type() &&
          head->key.name == resource.name())
        return &*entry;
    }
  }
  return nullptr;
}

LockEntry& Locker::held(const ResourceId& resource) const {
  LockEntry* const entry = find(resource);
  if (!entry || entry->count <= entry->deferred) refuse("a lock is released that is not held");
  return *entry;
}

LockEntry& Locker::freeEntry() {
  if (held_ == first_.used && held_ < kChunk) return first_.entries[first_.used++];  // no gaps: nothing to look for
  for (Chunk* chunk = &first_;;) {
    for (LockEntry& entry : chunk->inUse())
      if (!entry.head.load(std::memory_order_relaxed)) return entry;
    if (chunk->used < kChunk) return chunk->entries[chunk->used++];
    Chunk* next = chunk->next.load(std::memory_order_relaxed);
    if (!next) {
      next = new Chunk();
      chunk->next.store(next, std::memory_order_release);
    }
    chunk = next;
  }
}

/// Locks are mostly released from below, in which case the searches stay short.
void Locker::trim() {
  while (first_.used > 0 && !first_.entries[first_.used - 1].head.load(std::memory_order_relaxed)) --first_.used;
}

LockMode Locker::modeOf(const ResourceId& resource) const {
  const LockEntry* const entry = find(resource);
  return entry ? entry->mode.load(std::memory_order_relaxed) : LockMode::kNone;
}

/// The hierarchy (LCK-001): global resources in their order and before all others, the rest below what `kLockPath`
/// has above it, held at least in the intent mode that announces what is taken below.
void Locker::checkOrder(const ResourceId& resource, LockMode mode) const {
  const ResourceType type = resource.type();
  const LockMode above = intentAbove(mode);
  unsigned missing = typesAbove(type);
  bool isHeld = false, after = false;
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (const LockEntry& entry : chunk->inUse()) {
      const LockHead* const head = entry.head.load(std::memory_order_relaxed);
      if (!head) continue;
      if ((missing & bitOf(head->key.type)) != 0 && covers(entry.mode.load(std::memory_order_relaxed), above) &&
          (head->key.type != ResourceType::kDatabase || isWithin(resource.name(), head->key.name)))
        missing &= ~bitOf(head->key.type);
      isHeld |= head->key.type == type;
      after |= head->key.type > type && head->key.type != ResourceType::kMutex;
    }
  }
  if (missing != 0) refuse("a lock of the type " + std::string(nameOf(type)) + " is requested without those above it");
  if (isGlobalResource(type) && after && !isHeld) refuse("a global resource is requested after one that comes later");
}

void Locker::fill(LockEntry& entry, LockHead& head, LockMode mode) {
  entry.since.store(clock_, std::memory_order_relaxed);
  entry.mode.store(mode, std::memory_order_relaxed);
  entry.count = mode == LockMode::kNone ? 0 : 1;
  entry.deferred = 0;
  entry.head.store(&head, std::memory_order_release);
}

bool Locker::grantNow(LockHead& head, LockMode mode) {
  LockEntry* const entry = find(head);
  if (!entry) {
    if (!head.word.tryGrant(mode)) return false;
    fill(freeEntry(), head, mode);
    ++held_;
  } else {
    const LockMode from = entry->mode.load(std::memory_order_relaxed);
    const LockMode to = combined(from, mode);
    if (to != from && !head.word.tryConvert(from, to)) return false;
    entry->mode.store(to, std::memory_order_relaxed);
    ++entry->count;
  }
  countAcquired(head.key.type, mode);
  return true;
}

bool Locker::tryAcquire(const ResourceId& resource, LockMode mode) {
  begin();
  checkOrder(resource, mode);
  if (isGlobalResource(resource.type())) return grantNow(manager_.globalHead(resource.type()), mode);
  LockManager::Partition& partition = manager_.partitionOf(resource);
  const std::lock_guard lock(partition.mutex);
  return grantNow(manager_.findOrAdd(partition, resource), mode);
}

Locker::Acquisition Locker::acquire(const ResourceId& resource, LockMode mode, LockOptions options, LockCallback done) {
  begin();
  checkOrder(resource, mode);
  if (isGlobalResource(resource.type())) {
    LockHead& head = manager_.globalHead(resource.type());
    if (grantNow(head, mode)) return {};
    return waitFor(head, mode, options, std::move(done), std::unique_lock(head.mutex));
  }
  LockManager::Partition& partition = manager_.partitionOf(resource);
  std::unique_lock lock(partition.mutex);
  LockHead& head = manager_.findOrAdd(partition, resource);
  if (grantNow(head, mode)) return {};
  return waitFor(head, mode, options, std::move(done), std::move(lock));
}

bool Locker::isLate(const LockHead& head) const {
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (const LockEntry& entry : chunk->inUse()) {
      const LockHead* const other = entry.head.load(std::memory_order_relaxed);
      if (other && other != &head && head.key.id() < other->key.id()) return true;
    }
  }
  return false;
}

Locker::Acquisition Locker::waitFor(LockHead& head, LockMode mode, LockOptions options, LockCallback done,
                                    std::unique_lock<std::mutex> lock) {
  LockEntry* entry = find(head);
  auto wait = std::make_shared<LockWait>(head.mutex, *this);
  wait->late_ = entry || isLate(head);
  if (!entry) fill(*(entry = &freeEntry()), head, LockMode::kNone);
  wait->head_ = &head;
  wait->entry_ = entry;
  wait->from_ = entry->mode.load(std::memory_order_relaxed);
  wait->requested_ = mode;
  wait->mode_ = combined(wait->from_, mode);
  wait->compatibleFirst_ = options.compatibleFirst;
  wait->atFront_ = options.atFront || (isGlobalResource(head.key.type) && !isIntent(mode));
  wait->since_ = manager_.now_();
  wait->done_ = std::move(done);
  EndedWaits ended;
  manager_.enqueue(head, wait);
  LockCallback mine = std::exchange(wait->done_, nullptr);  // a grant within this call is returned, not called back
  manager_.grantWaiters(head, ended);
  pending_ = wait;
  const bool granted = wait->state_ == LockWait::State::kGranted;
  if (!granted) wait->done_ = std::move(mine);
  lock.unlock();
  ended.announce();
  if (granted) {
    settle();
    return {};
  }
  if (held_ == 0 || manager_.lateWaits_.load() == 0) return {Status::OK(), std::move(wait)};
  Status deadlock = manager_.breakDeadlock(*wait);
  if (deadlock.isOK()) return {Status::OK(), std::move(wait)};
  const ResourceType type = head.key.type;
  settle();
  bump<int64_t>(waitFigures_.load(std::memory_order_relaxed)
                    ->figures[static_cast<size_t>(type)][static_cast<size_t>(wait->requested_)]
                    .deadlocks);
  return {std::move(deadlock), nullptr};
}

void Locker::giveUp(const std::shared_ptr<LockWait>& wait) {
  if (pending_ != wait) return;  // its outcome was taken up
  EndedWaits ended;
  {
    const std::lock_guard lock(wait->mutex_);
    if (wait->state_ == LockWait::State::kWaiting) {
      wait->state_ = LockWait::State::kFailed;
      wait->done_ = nullptr;
      manager_.remove(*wait->head_, *wait, ended);
    }
  }
  ended.announce();
  const bool granted = wait->state_ == LockWait::State::kGranted;
  LockEntry* const entry = wait->entry_;
  settle();
  if (!granted) return;
  if (--entry->count == 0) drop(*entry);
  else weaken(*entry, wait->from_);
}

void Locker::weaken(LockEntry& entry, LockMode mode) {
  LockHead& head = *entry.head.load(std::memory_order_relaxed);
  EndedWaits ended;
  {
    const std::lock_guard lock(head.mutex);
    head.word.grantLocked(entry.mode.load(std::memory_order_relaxed), mode);
    entry.mode.store(mode, std::memory_order_relaxed);
    if (head.word.isQueued()) manager_.grantWaiters(head, ended);
  }
  ended.announce();
}

/// The entry is cleared first: as long as it names the head, the head is held.
void Locker::drop(LockEntry& entry) {
  LockHead& head = *entry.head.load(std::memory_order_relaxed);
  const LockMode mode = entry.mode.load(std::memory_order_relaxed);
  entry.count = entry.deferred = 0;
  entry.mode.store(LockMode::kNone, std::memory_order_relaxed);
  entry.head.store(nullptr, std::memory_order_release);
  --held_;
  trim();
  giveBack(head, mode);
}

void Locker::giveBack(LockHead& head, LockMode mode) {
  if (head.word.tryRelease(mode)) return;
  EndedWaits ended;
  {
    const std::lock_guard lock(head.mutex);
    head.word.releaseLocked(mode);
    manager_.grantWaiters(head, ended);
  }
  ended.announce();
}

void Locker::release(const ResourceId& resource) {
  if (pending_) settle();
  LockEntry& entry = held(resource);
  if (units_ > 0) ++entry.deferred;
  else if (--entry.count == 0) drop(entry);
}

void Locker::endUnit() {
  if (units_ == 0) refuse("a unit of work ends that did not begin");
  if (--units_ > 0) return;
  if (pending_) settle();
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (LockEntry& entry : chunk->inUse()) {
      if (!entry.head.load(std::memory_order_relaxed) || entry.deferred == 0) continue;
      entry.count -= std::exchange(entry.deferred, 0);
      if (entry.count == 0) drop(entry);
    }
  }
}

void Locker::releaseAll() {
  if (pending_) settle();
  if (pending_) refuse("locks are released while a request is pending");
  if (units_ > 0) refuse("all locks are released within a unit of work");
  if (held_ == 0) return;
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (LockEntry& entry : chunk->inUse())
      if (entry.head.load(std::memory_order_relaxed)) drop(entry);
  }
}

void Locker::releaseEntirely(const ResourceId& resource) {
  if (pending_) settle();
  if (LockEntry* const entry = find(resource)) drop(*entry);
}

void Locker::adopt(Locker& other) {
  begin();
  if (other.pending_) other.settle();
  if (other.pending_) refuse("locks are taken over while a request is pending");
  if (units_ == 0) beginUnit();
  for (Chunk* chunk = &other.first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (LockEntry& theirs : chunk->inUse())
      if (theirs.head.load(std::memory_order_relaxed)) adoptEntry(theirs);
  }
  other.held_ = 0;
  other.units_ = 0;
  other.trim();
}

/// The modes in which two lockers hold one resource are compatible, else one had not been granted; so one covers the
/// other.
void Locker::adoptEntry(LockEntry& theirs) {
  LockHead& head = *theirs.head.load(std::memory_order_relaxed);
  const LockMode mode = theirs.mode.load(std::memory_order_relaxed);
  const uint32_t count = theirs.count;
  LockEntry* mine = find(head);
  LockMode surplus = LockMode::kNone;
  if (!mine) {
    mine = &freeEntry();
    fill(*mine, head, mode);
    mine->since.store(theirs.since.load(std::memory_order_relaxed), std::memory_order_relaxed);
    mine->count = 0;
    ++held_;
  } else {
    const LockMode own = mine->mode.load(std::memory_order_relaxed);
    surplus = covers(own, mode) ? mode : own;
    mine->mode.store(covers(own, mode) ? own : mode, std::memory_order_relaxed);
  }
  mine->count += count;
  mine->deferred += count;
  theirs.count = theirs.deferred = 0;
  theirs.mode.store(LockMode::kNone, std::memory_order_relaxed);
  theirs.head.store(nullptr, std::memory_order_release);
  if (surplus != LockMode::kNone) giveBack(head, surplus);
}

void Locker::downgrade(const ResourceId& resource, LockMode mode) {
  if (pending_) settle();
  LockEntry& entry = held(resource);
  const LockMode from = entry.mode.load(std::memory_order_relaxed);
  if (units_ > 0) refuse("a lock is weakened within a unit of work");
  if (!covers(from, mode)) refuse("a lock is weakened to a mode that it does not cover");
  weaken(entry, mode);
}

LockSnapshot Locker::saveAndRelease() {
  if (pending_) settle();
  LockSnapshot saved;
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed)) {
    for (const LockEntry& entry : chunk->inUse()) {
      if (const LockHead* const head = entry.head.load(std::memory_order_relaxed))
        saved.push_back({head->key, entry.mode.load(std::memory_order_relaxed), entry.count});
    }
  }
  releaseAll();
  std::sort(saved.begin(), saved.end(),
            [](const LockRequest& a, const LockRequest& b) { return a.resource.id() < b.resource.id(); });
  return saved;
}

void Locker::addCount(const ResourceId& resource, uint32_t more) {
  if (pending_) settle();  // the wait for it has just ended
  held(resource).count += more;
}

}  // namespace troupe::storage
