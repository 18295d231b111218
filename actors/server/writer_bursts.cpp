#include "actors/server/writer_bursts.hpp"

#include <algorithm>
#include <utility>

namespace troupe::server {

void WriterBursts::arrived() {
  std::vector<std::weak_ptr<Promise<Done>>> readers;
  {
    const std::lock_guard lock(mutex_);
    ++waiting_;
    if (waiting_ < expected_) return;
    expected_ = waiting_;
    readers.swap(readers_);
  }
  for (const auto& reader : readers) {
    if (const auto promise = reader.lock()) promise->set(Done{});
  }
}

void WriterBursts::left() {
  const std::lock_guard lock(mutex_);
  --waiting_;
}

void WriterBursts::beginGathering(bson::Timestamp end) {
  const std::lock_guard lock(mutex_);
  gathering_.insert(end);
}

void WriterBursts::endGathering(bson::Timestamp end) {
  const std::lock_guard lock(mutex_);
  gathering_.erase(gathering_.find(end));
}

bool WriterBursts::isGathered(bson::Timestamp entry) const {
  const std::lock_guard lock(mutex_);
  return !gathering_.empty() && *gathering_.begin() < entry;
}

bool WriterBursts::isComplete() const {
  const std::lock_guard lock(mutex_);
  return waiting_ > 0 && waiting_ >= expected_;
}

void WriterBursts::whenComplete(const std::shared_ptr<Promise<Done>>& complete) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ == 0 || waiting_ < expected_) {
      std::erase_if(readers_, [](const auto& reader) { return reader.expired(); });
      readers_.push_back(complete);
      return;
    }
  }
  complete->set(Done{});
}

void WriterBursts::expectNoMore() {
  const std::lock_guard lock(mutex_);
  expected_ = waiting_;
}

}  // namespace troupe::server
