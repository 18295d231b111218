#include "actors/replication/oplog_buffer.hpp"

#include <utility>

namespace troupe::replication {

namespace {

size_t bytesOf(const FetchedEntry& entry) { return entry.document.bytes().size() + sizeof(FetchedEntry); }

void completeAll(std::vector<Promise<troupe::Done>> waiters) {
  for (Promise<troupe::Done>& each : waiters) each.set({});
}

}  // namespace

std::optional<bool> OplogBuffer::tryPush(std::vector<FetchedEntry>& entries, size_t bytes, uint64_t life,
                                         std::optional<Future<troupe::Done>>& room) {
  std::vector<Promise<troupe::Done>> readers;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || life != life_) return false;
    if (!entries_.empty() && bytes_ + bytes > maxBytes_) {
      room.emplace(awaitingRoom_.emplace_back().future());
      return std::nullopt;
    }
    newest_ = entries.back().opTime;
    for (FetchedEntry& each : entries) entries_.push_back(std::move(each));
    bytes_ += bytes;
    readers.swap(awaitingEntries_);
  }
  completeAll(std::move(readers));
  return true;
}

Task<bool> OplogBuffer::push(std::vector<FetchedEntry> entries) {
  if (entries.empty()) co_return !isClosed();
  size_t bytes = 0;
  for (const FetchedEntry& each : entries) bytes += bytesOf(each);
  const uint64_t begun = life();
  for (;;) {
    std::optional<Future<troupe::Done>> room;
    const std::optional<bool> pushed = tryPush(entries, bytes, begun, room);
    if (pushed) co_return *pushed;
    Future<troupe::Done> freed = std::move(*room);
    co_await freed;
  }
}

Future<troupe::Done> OplogBuffer::waitIn(std::vector<Promise<troupe::Done>>& waiters, bool waits) {
  Promise<troupe::Done> promise;
  auto future = promise.future();
  if (waits) waiters.push_back(std::move(promise));
  else promise.set({});
  return future;
}

Future<troupe::Done> OplogBuffer::filled() {
  const std::lock_guard lock(mutex_);
  return waitIn(awaitingEntries_, entries_.empty() && !closed_);
}

Future<troupe::Done> OplogBuffer::opened() {
  const std::lock_guard lock(mutex_);
  return waitIn(awaitingOpen_, closed_);
}

Task<void> OplogBuffer::untilFilled() {
  auto now = filled();
  co_await now;
}

Task<void> OplogBuffer::untilOpen() {
  auto now = opened();
  co_await now;
}

std::vector<FetchedEntry> OplogBuffer::take(size_t maxEntries, size_t maxBytes, uint64_t* life) {
  std::vector<FetchedEntry> taken;
  std::vector<Promise<troupe::Done>> writers;
  {
    const std::lock_guard lock(mutex_);
    if (life) *life = life_;
    for (size_t bytes = 0; !entries_.empty() && taken.size() < maxEntries;) {
      const size_t next = bytesOf(entries_.front());
      if (!taken.empty() && bytes + next > maxBytes) break;
      bytes += next;
      bytes_ -= next;
      taken.push_back(std::move(entries_.front()));
      entries_.pop_front();
    }
    writers.swap(awaitingRoom_);
  }
  completeAll(std::move(writers));
  return taken;
}

void OplogBuffer::close() {
  std::vector<Promise<troupe::Done>> writers, readers;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    writers.swap(awaitingRoom_);
    readers.swap(awaitingEntries_);
  }
  completeAll(std::move(writers));
  completeAll(std::move(readers));
}

void OplogBuffer::beginLife() {
  entries_.clear();
  bytes_ = 0;
  newest_.reset();
  ++life_;
}

void OplogBuffer::clear() {
  const std::lock_guard lock(mutex_);
  beginLife();
}

void OplogBuffer::reopen() {
  std::vector<Promise<troupe::Done>> writers, readers;
  {
    const std::lock_guard lock(mutex_);
    beginLife();
    closed_ = false;
    writers.swap(awaitingRoom_);
    readers.swap(awaitingOpen_);
  }
  completeAll(std::move(writers));
  completeAll(std::move(readers));
}

bool OplogBuffer::isClosed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

uint64_t OplogBuffer::life() const {
  const std::lock_guard lock(mutex_);
  return life_;
}

std::optional<OpTime> OplogBuffer::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

OplogBuffer::Figures OplogBuffer::figures() const {
  const std::lock_guard lock(mutex_);
  return {entries_.size(), bytes_, maxBytes_};
}

}  // namespace troupe::replication
