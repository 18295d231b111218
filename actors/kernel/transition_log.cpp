#include "actors/kernel/transition_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "actors/kernel/registry.hpp"
#include "messaging/log/bounded_attributes.hpp"

namespace troupe {

namespace {

bool matches(const TransitionRecord& record, const TransitionFilter& filter) {
  return (filter.machine.empty() || record.machine == filter.machine) &&
         (filter.instance.empty() || record.instance == filter.instance) && (!filter.movesOnly || record.isMove());
}

void bound(TransitionRecord& record) {
  const auto cut = [](std::string& text) { text.resize(log::beginningOf(text, TransitionLog::kLongestText).size()); };
  for (std::string* text : {&record.instance, &record.cause, &record.outcome}) cut(*text);
  for (std::string& effect : record.effects) cut(effect);
}

}  // namespace

TransitionLog::History& TransitionLog::touch(const std::string& path) {
  const auto found = byPath_.find(path);
  if (found == byPath_.end()) {
    histories_.push_front({path, {}, {}});
    byPath_.emplace(histories_.front().path, histories_.begin());
  } else {
    histories_.splice(histories_.begin(), histories_, found->second);
  }
  return histories_.front();
}

void TransitionLog::insert(TransitionRecord record) {
  const bool isMove = record.isMove();
  History& history = touch(record.path);
  std::deque<Numbered>& ring = isMove ? history.moves : history.others;
  ring.push_back({next_++, std::move(record)});
  if (ring.size() > (isMove ? kMovesOfAnActor : kOthersOfAnActor)) ring.pop_front();
  else ++count_;
  evict();
}

void TransitionLog::evict() {
  while (count_ > kRecords) {
    const History& oldest = histories_.back();
    count_ -= oldest.moves.size() + oldest.others.size();
    byPath_.erase(oldest.path);
    histories_.pop_back();
  }
}

void TransitionLog::add(TransitionRecord record) {
  bound(record);
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    if (wake_ && record.isMove()) {
      if (unwritten_.empty()) wake = wake_;
      if (unwritten_.size() < kUnwritten) unwritten_.push_back(record);
      else ++dropped_;
    }
    insert(std::move(record));
  }
  if (wake) wake();
}

std::vector<TransitionRecord> TransitionLog::find(const TransitionFilter& filter) const {
  std::vector<const Numbered*> found;
  std::lock_guard lock(mutex_);
  for (const History& history : histories_) {
    if (!isUnder(history.path, filter.under)) continue;
    for (const auto* ring : {&history.moves, &history.others})
      for (const Numbered& one : *ring)
        if (matches(one.record, filter)) found.push_back(&one);
  }
  std::sort(found.begin(), found.end(), [](const Numbered* a, const Numbered* b) { return a->number > b->number; });
  if (found.size() > filter.limit) found.resize(filter.limit);
  std::vector<TransitionRecord> records;
  records.reserve(found.size());
  for (const Numbered* one : found) records.push_back(one->record);
  return records;
}

void TransitionLog::keepWith(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void TransitionLog::forgetKeeper() {
  std::lock_guard lock(mutex_);
  wake_ = nullptr;
  unwritten_.clear();
}

std::vector<TransitionRecord> TransitionLog::takeUnwritten(size_t most) {
  std::lock_guard lock(mutex_);
  const auto end = unwritten_.begin() + static_cast<std::ptrdiff_t>(std::min(most, unwritten_.size()));
  std::vector<TransitionRecord> taken(std::make_move_iterator(unwritten_.begin()), std::make_move_iterator(end));
  unwritten_.erase(unwritten_.begin(), end);
  return taken;
}

int64_t TransitionLog::dropped() const {
  std::lock_guard lock(mutex_);
  return dropped_;
}

void TransitionLog::restore(std::vector<TransitionRecord> records) {
  std::lock_guard lock(mutex_);
  if (std::exchange(restored_, true)) return;
  int64_t number = 0;
  for (auto record = records.rbegin(); record != records.rend() && count_ < kRecords; ++record) {
    if (!byPath_.contains(record->path)) {
      histories_.push_back({record->path, {}, {}});
      byPath_.emplace(histories_.back().path, std::prev(histories_.end()));
    }
    std::deque<Numbered>& moves = byPath_.find(record->path)->second->moves;
    if (moves.size() >= kMovesOfAnActor) continue;
    moves.push_front({--number, std::move(*record)});
    ++count_;
  }
}

}  // namespace troupe
