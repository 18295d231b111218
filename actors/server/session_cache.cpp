#include "actors/server/session_cache.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::server {

namespace {
__extension__ typedef unsigned __int128 Uint128;
}

size_t SessionCache::bucketOf(std::string_view id) const {
  uint64_t low = 0, high = 0;
  std::memcpy(&low, id.data(), sizeof(low));
  std::memcpy(&high, id.data() + sizeof(low), sizeof(high));
  const auto product = static_cast<Uint128>(low ^ seed_) * ((high ^ (seed_ >> 1)) | 1);
  const auto mixed = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return (mixed * 0x9e3779b97f4a7c15 >> 32) & (buckets_.size() - 1);
}

SessionCache::Index SessionCache::find(const SessionKey& key) const {
  Index index = buckets_[bucketOf(key.id())];
  while (index != kNone && !(slots_[index].key == key)) index = slots_[index].nextOfBucket;
  return index;
}

void SessionCache::unlink(Index index) {
  const Slot& slot = slots_[index];
  (slot.older == kNone ? oldest_ : slots_[slot.older].newer) = slot.newer;
  (slot.newer == kNone ? newest_ : slots_[slot.newer].older) = slot.older;
}

void SessionCache::linkNewest(Index index) {
  Slot& slot = slots_[index];
  slot.useNumber = ++uses_;
  slot.older = newest_;
  slot.newer = kNone;
  (newest_ == kNone ? oldest_ : slots_[newest_].newer) = index;
  newest_ = index;
}

void SessionCache::linkOldest(Index index) {
  Slot& slot = slots_[index];
  slot.useNumber = 0;
  slot.newer = oldest_;
  slot.older = kNone;
  (oldest_ == kNone ? newest_ : slots_[oldest_].older) = index;
  oldest_ = index;
}

void SessionCache::setState(Slot& slot, State state) {
  live_ -= slot.isLive();
  ended_ -= slot.state == State::kEnded;
  slot.state = state;
  live_ += slot.isLive();
  ended_ += slot.state == State::kEnded;
}

void SessionCache::growBuckets() {
  buckets_.assign(buckets_.size() * 2, kNone);
  for (Index index = oldest_; index != kNone; index = slots_[index].newer) {
    Index& head = buckets_[bucketOf(slots_[index].key.id())];
    slots_[index].nextOfBucket = head;
    head = index;
  }
}

SessionCache::Index SessionCache::insert(const SessionKey& key, std::span<const UserKey> users) {
  if (live_ + ended_ >= buckets_.size()) growBuckets();
  Index index = static_cast<Index>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.key = key;
  slot.owner = owners_.acquire(key.owner(), users);
  Index& head = buckets_[bucketOf(key.id())];
  slot.nextOfBucket = head;
  head = index;
  linkNewest(index);
  return index;
}

/// Of a session that no operation uses.
void SessionCache::remove(Index index) {
  Slot& slot = slots_[index];
  Index* at = &buckets_[bucketOf(slot.key.id())];
  while (*at != index) at = &slots_[*at].nextOfBucket;
  *at = slot.nextOfBucket;
  unlink(index);
  owners_.release(slot.owner);
  slot.owner = SessionOwners::kUnknown;
  setState(slot, State::kFree);
  free_.push_back(index);
}

/// Sessions of running operations are in use now, so that the search passes over each of them once.
void SessionCache::makeRoom(TimePoint now) {
  const auto most = static_cast<size_t>(std::max<int64_t>(1, most_.load(std::memory_order_relaxed)));
  for (size_t looked = live_ + ended_; live_ + ended_ >= most && looked > 0; --looked) {
    const Index index = oldest_;
    Slot& slot = slots_[index];
    if (slot.isRunning()) {
      unlink(index);
      slot.lastUse = now;
      linkNewest(index);
      continue;
    }
    displaced_ += slot.isLive();
    remove(index);
  }
}

SessionCache::Use SessionCache::use(const SessionKey& key, std::span<const UserKey> users, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Index index = find(key);
  if (index == kNone) {
    makeRoom(now);
    index = insert(key, users);
  } else if (index != newest_ || slots_[index].useNumber == 0) {
    unlink(index);
    linkNewest(index);
  }
  Slot& slot = slots_[index];
  if (slot.owner == SessionOwners::kUnknown && !users.empty()) slot.owner = owners_.acquire(key.owner(), users);
  if (slot.state != State::kUsed) setState(slot, State::kUsed);
  slot.lastUse = now;
  slot.running.fetch_add(1, std::memory_order_relaxed);
  return Use(&slot);
}

bool SessionCache::end(const SessionKey& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Index index = find(key);
  const bool isHere = index != kNone && slots_[index].isLive();
  if (index == kNone) {
    if (live_ + ended_ >= static_cast<size_t>(most_.load(std::memory_order_relaxed))) return false;  // it will time out
    index = insert(key, {});
    slots_[index].lastUse = now;
  }
  setState(slots_[index], State::kEnded);
  unlink(index);
  linkOldest(index);  // it is the first to give way
  return isHere;
}

SessionCache::Row SessionCache::rowOf(const Slot& slot) const {
  return {slot.key, slot.lastUse, owners_.nameOf(slot.owner), slot.isRunning(), slot.useNumber};
}

bool SessionCache::isOf(const Slot& slot, Which which) {
  switch (which) {
    case Which::kLive: return slot.isLive();
    case Which::kUsed: return slot.state == State::kUsed || (slot.state == State::kKnown && slot.isRunning());
    case Which::kKnown: return slot.state == State::kKnown && !slot.isRunning();
    case Which::kEnded: return slot.state == State::kEnded && !slot.isRunning();
  }
  return false;
}

std::vector<SessionCache::Row> SessionCache::look(Place& place, size_t most, Which which) const {
  std::vector<Row> found;
  const std::lock_guard lock(mutex_);
  const size_t end = std::min(slots_.size(), place.next + kSlotsAtOnce);
  for (; place.next < end && found.size() < most; ++place.next)
    if (isOf(slots_[place.next], which)) found.push_back(rowOf(slots_[place.next]));
  place.atEnd = place.next >= slots_.size();
  return found;
}

std::optional<SessionCache::Page> SessionCache::recent(const std::optional<Mark>& after, size_t most) const {
  Page page;
  const std::lock_guard lock(mutex_);
  Index index = newest_;
  if (after) {
    const Index last = find(after->key);
    if (last == kNone || slots_[last].useNumber != after->useNumber) return std::nullopt;
    index = slots_[last].older;
  }
  // Ended ones lie at the old end, where no use has a number, but for those that were looked at while they ran.
  for (size_t looked = 0; index != kNone && slots_[index].useNumber > 0; ++looked) {
    if (page.rows.size() == most || looked == kSlotsAtOnce) return page;
    const Slot& slot = slots_[index];
    if (slot.isLive()) page.rows.push_back(rowOf(slot));
    page.next = {slot.key, slot.useNumber};
    index = slot.older;
  }
  page.next.reset();
  return page;
}

void SessionCache::addOlder(Place& place, int64_t useNumber, size_t most, std::vector<Row>& page) const {
  const auto isLater = [](const Row& a, const Row& b) { return a.useNumber > b.useNumber; };
  const std::lock_guard lock(mutex_);
  const size_t end = std::min(slots_.size(), place.next + kSlotsAtOnce);
  for (; place.next < end; ++place.next) {
    const Slot& slot = slots_[place.next];
    if (!slot.isLive() || slot.useNumber >= useNumber) continue;
    if (page.size() == most) {
      if (slot.useNumber < page.front().useNumber) continue;
      std::ranges::pop_heap(page, isLater);
      page.pop_back();
    }
    page.push_back(rowOf(slot));
    std::ranges::push_heap(page, isLater);
  }
  place.atEnd = place.next >= slots_.size();
}

std::vector<SessionKey> SessionCache::keysOf(std::string_view id) const {
  std::vector<SessionKey> found;
  const std::lock_guard lock(mutex_);
  for (Index index = buckets_[bucketOf(id)]; index != kNone; index = slots_[index].nextOfBucket)
    if (slots_[index].key.id() == id && slots_[index].isLive()) found.push_back(slots_[index].key);
  return found;
}

bool SessionCache::contains(const SessionKey& key) const {
  const std::lock_guard lock(mutex_);
  const Index index = find(key);
  return index != kNone && slots_[index].isLive();
}

std::vector<SessionOwners::Known> SessionCache::owners(Place& place, size_t most) const {
  const std::lock_guard lock(mutex_);
  auto found = owners_.look(place.next, most);
  place.atEnd = place.next >= owners_.ids();
  return found;
}

void SessionCache::noteWritten(std::span<const Row> rows) {
  const std::lock_guard lock(mutex_);
  for (const Row& row : rows) {
    const Index index = find(row.key);
    if (index == kNone) continue;
    Slot& slot = slots_[index];
    if (slot.state == State::kUsed && slot.lastUse == row.lastUse) setState(slot, State::kKnown);
  }
}

void SessionCache::noteDeleted(std::span<const SessionKey> keys) {
  const std::lock_guard lock(mutex_);
  for (const SessionKey& key : keys) {
    const Index index = find(key);
    if (index != kNone && slots_[index].state == State::kEnded && !slots_[index].isRunning()) remove(index);
  }
}

std::vector<SessionKey> SessionCache::expire(std::span<const SessionKey> keys) {
  std::vector<SessionKey> gone;
  const std::lock_guard lock(mutex_);
  for (const SessionKey& key : keys) {
    const Index index = find(key);
    if (index != kNone) {
      if (slots_[index].state != State::kKnown || slots_[index].isRunning()) continue;
      remove(index);
    }
    gone.push_back(key);
  }
  return gone;
}

std::vector<SessionKey> SessionCache::endIdle(TimePoint unusedSince, TimePoint now, size_t most) {
  std::vector<SessionKey> gone;
  const std::lock_guard lock(mutex_);
  for (size_t looked = 0; looked < most && oldest_ != kNone; ++looked) {
    const Index index = oldest_;
    Slot& slot = slots_[index];
    if (slot.state != State::kEnded && slot.lastUse >= unusedSince) break;
    if (slot.isRunning()) {
      unlink(index);
      slot.lastUse = now;
      linkNewest(index);
      continue;
    }
    gone.push_back(slot.key);
    remove(index);
  }
  return gone;
}

size_t SessionCache::size() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

size_t SessionCache::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

int64_t SessionCache::displaced() const {
  const std::lock_guard lock(mutex_);
  return displaced_;
}

size_t SessionCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return slots_.size() * sizeof(Slot) + (buckets_.capacity() + free_.capacity()) * sizeof(Index);
}

SessionJobs SessionCache::jobs() const {
  const std::lock_guard lock(mutex_);
  return jobs_;
}

void SessionCache::noteRefresh(const SessionJobs& last) {
  const std::lock_guard lock(mutex_);
  ++jobs_.refreshes;
  jobs_.failedRefreshes += !last.isRefreshed;
  jobs_.refreshMillis = last.refreshMillis;
  jobs_.refreshedAt = last.refreshedAt;
  jobs_.refreshed = last.refreshed;
  jobs_.ended = last.ended;
  jobs_.cursorsClosed = last.cursorsClosed;
  jobs_.isRefreshed = last.isRefreshed;
}

void SessionCache::noteReap(const SessionJobs& last, bool succeeded) {
  const std::lock_guard lock(mutex_);
  ++jobs_.reaps;
  jobs_.failedReaps += !succeeded;
  jobs_.reapMillis = last.reapMillis;
  jobs_.reapedAt = last.reapedAt;
  jobs_.reaped = last.reaped;
}

}  // namespace troupe::server
