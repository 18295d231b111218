#include "storage/locks/lock_manager.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "storage/locks/lock_graph.hpp"
#include "storage/locks/locker.hpp"

namespace troupe::storage {

LockManager::LockManager(Clock now, Clock coarse)
    : now_(now),
      coarse_(coarse ? std::move(coarse) : std::move(now)),
      globals_{GlobalHead(ResourceType::kMultiDocumentBarrier), GlobalHead(ResourceType::kStateTransition),
               GlobalHead(ResourceType::kGlobal)} {}

LockManager::~LockManager() {
  for (Partition& partition : partitions_) {
    for (LockHead* head : partition.buckets) {
      while (head) delete std::exchange(head, head->next);
    }
  }
}

LockHead& LockManager::findOrAdd(Partition& partition, const ResourceId& id) {
  for (LockHead* head = partition.bucketOf(id.hash()); head; head = head->next) {
    if (head->hash == id.hash() && head->key.type == id.type() && head->key.name == id.name()) return *head;
  }
  if (partition.heads >= partition.buckets.size()) removeIdle(partition);
  auto* head = new LockHead(id, partition.mutex);
  head->next = std::exchange(partition.bucketOf(head->hash), head);
  ++partition.heads;
  return *head;
}

/// Deletes heads without holders and waiters: they can be found only under the partition's mutex, which is held. The
/// number of buckets becomes twice that of the remaining heads, so that the cost of a removal is spread over as many
/// additions.
void LockManager::removeIdle(Partition& partition) {
  std::vector<LockHead*> used;
  for (LockHead* head : partition.buckets) {
    while (head) {
      LockHead* const next = head->next;
      if (head->word.isIdle()) delete head;
      else used.push_back(head);
      head = next;
    }
  }
  partition.heads = used.size();
  partition.buckets.assign(std::bit_ceil(std::max<size_t>(64, used.size() * 2)), nullptr);
  for (LockHead* head : used) head->next = std::exchange(partition.bucketOf(head->hash), head);
}

void LockManager::enqueue(LockHead& head, const std::shared_ptr<LockWait>& wait) {
  head.word.markQueued();
  LockQueue& queue = wait->from_ != LockMode::kNone ? head.converters : head.waiters;
  auto place = queue.end();
  if (wait->atFront_) place = std::find_if(queue.begin(), queue.end(), [](const auto& w) { return !w->atFront_; });
  wait->place_ = queue.insert(place, wait);
  head.compatibleFirst += wait->compatibleFirst_;
  if (wait->late_) lateWaits_.fetch_add(1);
}

/// Takes the wait out of its queue; its state says why.
void LockManager::remove(LockHead& head, LockWait& wait, EndedWaits& ended) {
  LockQueue& queue = wait.from_ != LockMode::kNone ? head.converters : head.waiters;
  head.compatibleFirst -= wait.compatibleFirst_;
  if (wait.late_) lateWaits_.fetch_sub(1);
  wait.ended_ = now_();
  queue.erase(wait.place_);
  if (wait.state_ == LockWait::State::kFailed) grantWaiters(head, ended);  // requests behind it may be compatible now
}

bool LockManager::tryGrantWaiter(LockHead& head, LockWait& wait, EndedWaits& ended) {
  if (!head.word.grantLocked(wait.from_, wait.mode_)) return false;
  const std::shared_ptr<LockWait> kept = *wait.place_;
  wait.state_ = LockWait::State::kGranted;
  remove(head, wait, ended);
  wait.entry_->since.store(wait.ended_.time_since_epoch().count(), std::memory_order_relaxed);
  wait.entry_->mode.store(wait.mode_, std::memory_order_relaxed);
  ended.add(std::move(wait.done_), Status::OK());
  return true;
}

/// Grants requests in their order of arrival, with two exceptions: conversions come first, since other requests have
/// to wait for these holders anyway, and compatible-first requests overtake all but an exclusive one at the front.
void LockManager::grantWaiters(LockHead& head, EndedWaits& ended) {
  for (auto at = head.converters.begin(); at != head.converters.end();) {
    LockWait& wait = **at++;
    tryGrantWaiter(head, wait, ended);
  }
  if (head.converters.empty()) {
    while (!head.waiters.empty() && tryGrantWaiter(head, *head.waiters.front(), ended)) {
    }
  }
  for (auto at = head.waiters.begin(); head.compatibleFirst > 0 && at != head.waiters.end();) {
    LockWait& wait = **at++;
    if (wait.isPassedByNone()) break;
    if (wait.compatibleFirst_) tryGrantWaiter(head, wait, ended);
  }
  if (head.converters.empty() && head.waiters.empty()) head.word.clearQueued();
}

bool LockWait::fail(const Status& why) {
  EndedWaits ended;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kWaiting) return false;
    state_ = State::kFailed;
    ended.add(std::move(done_), why);
    locker_.manager_.remove(*head_, *this, ended);
  }
  ended.announce();
  return true;
}

Status LockManager::breakDeadlock(LockWait& wait) {
  EndedWaits ended;
  {
    const AllMutexes locks = lockAll();
    if (wait.state_ != LockWait::State::kWaiting || !LockGraph(*this).isInCycle(wait)) return Status::OK();
    wait.state_ = LockWait::State::kFailed;
    wait.done_ = nullptr;
    remove(*wait.head_, wait, ended);
  }
  ended.announce();
  return {ErrorCode::kWriteConflict,
          "the operation would wait for a lock forever: others that hold it wait for this one"};
}

void LockManager::add(Locker& locker) {
  Shard& shard = shards_[locker.id_ % kShards];
  const std::lock_guard lock(shard.mutex);
  locker.next_ = std::exchange(shard.first, &locker);
  if (locker.next_) locker.next_->previous_ = &locker;
}

void LockManager::remove(Locker& locker) {
  Shard& shard = shards_[locker.id_ % kShards];
  const std::lock_guard lock(shard.mutex);
  if (locker.previous_) locker.previous_->next_ = locker.next_;
  else shard.first = locker.next_;
  if (locker.next_) locker.next_->previous_ = locker.previous_;
  locker.addStatistics(shard.ended);
}

LockManager::AllMutexes LockManager::lockAll() const {
  AllMutexes locks;
  for (const Partition& partition : partitions_) locks.emplace_back(partition.mutex);
  for (const GlobalHead& global : globals_) locks.emplace_back(global.mutex);
  for (const Shard& shard : shards_) locks.emplace_back(shard.mutex);
  return locks;
}

std::vector<ResourceView> LockManager::inspect() const {
  const AllMutexes locks = lockAll();
  std::unordered_map<const LockHead*, ResourceView> views;
  const auto viewOf = [&](const LockHead& head) -> ResourceView& {
    const auto [at, added] = views.try_emplace(&head);
    if (added) {
      at->second.type = head.key.type;
      at->second.name = head.key.name;
    }
    return at->second;
  };
  eachLocker([&](const Locker& locker) {
    locker.eachEntry([&](const LockHead& head, LockMode mode, std::chrono::steady_clock::time_point since) {
      if (mode != LockMode::kNone) viewOf(head).granted.push_back({locker.id(), mode, since});
    });
  });
  eachHead([&](const LockHead& head) {
    for (const LockQueue* queue : {&head.converters, &head.waiters}) {
      for (const auto& w : *queue) {
        viewOf(head).pending.push_back(
            {w->locker_.id(), w->mode_, w->from_, w->atFront_, w->compatibleFirst_, w->since_});
      }
    }
  });
  std::vector<ResourceView> sorted;
  for (auto& [head, view] : views) {
    std::sort(view.granted.begin(), view.granted.end(),
              [](const auto& a, const auto& b) { return a.locker < b.locker; });
    sorted.push_back(std::move(view));
  }
  std::sort(sorted.begin(), sorted.end(), [](const ResourceView& a, const ResourceView& b) {
    return a.type != b.type ? a.type < b.type : a.name < b.name;
  });
  return sorted;
}

LockStatistics LockManager::statistics() const {
  LockStatistics sum;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum += shard.ended;
    for (const Locker* locker = shard.first; locker; locker = locker->next_) locker->addStatistics(sum);
  }
  return sum;
}

/// A head that is in use though no operation holds it or waits for it was leaked: nobody will release it. It counts
/// too.
size_t LockManager::inUse() const {
  const AllMutexes locks = lockAll();
  size_t count = 0;
  std::unordered_set<const LockHead*> held;
  eachLocker([&](const Locker& locker) {
    locker.eachEntry([&](const LockHead& head, LockMode mode, std::chrono::steady_clock::time_point) {
      if (mode == LockMode::kNone) return;
      held.insert(&head);
      ++count;
    });
  });
  eachHead([&](const LockHead& head) {
    const size_t pending = head.converters.size() + head.waiters.size();
    const bool isLeaked = pending == 0 && !held.contains(&head) && !head.word.isIdle();
    count += pending + isLeaked;
  });
  return count;
}

}  // namespace troupe::storage
