#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "actors/environment/environment.hpp"
#include "storage/query/expiry/expired_documents.hpp"

namespace troupe::maintenance {

/// The order in which a subpass of the TTL monitor visits the rules by which documents expire: in turn, each again
/// until nothing of it is left, and until the subpass's time is over (TTL-003, TTL-004). Pure.
class TtlSubpass {
 public:
  TtlSubpass(const std::vector<query::ExpiryRule>& rules, TimePoint end)
      : left_(rules.begin(), rules.end()), end_(end) {}

  /// The rule to visit now; nothing when the subpass has ended.
  std::optional<query::ExpiryRule> next(TimePoint now) const {
    if (left_.empty() || now >= end_) return std::nullopt;
    return left_.front();
  }
  /// The rule that `next` gave was visited; with more to remove its turn comes again.
  void visited(bool areMore) {
    if (areMore) left_.push_back(left_.front());
    left_.pop_front();
  }
  /// Rules with documents that are still to be removed.
  const std::deque<query::ExpiryRule>& left() const { return left_; }

 private:
  std::deque<query::ExpiryRule> left_;
  const TimePoint end_;
};

/// One turn of a rule: how many documents each of its batches may remove, and when it ends (TTL-004). It has one batch
/// at least, however late it comes: a rule whose turns are always late still comes to its end. Pure.
class TtlTurn {
 public:
  /// Documents removed in one unit of work, which holds its lock that long and meets other writers with all of them.
  static constexpr size_t kBatch = 128;

  /// Up to the targets of number and time; a target of 0 is none.
  static TtlTurn batched(int64_t documents, std::chrono::milliseconds time, TimePoint begin) {
    return {kBatch, documents > 0 ? static_cast<size_t>(documents) : kNoLimit,
            time.count() > 0 ? begin + time : TimePoint::max()};
  }
  /// Document by document to the end of the rule (TTL-006).
  static TtlTurn oneByOne() { return {1, kNoLimit, TimePoint::max()}; }

  /// The size of the batch to be removed now; nothing when the turn has ended.
  std::optional<size_t> next(TimePoint now) const {
    if (hasBegun_ && (!areMore_ || removed_ >= limit_ || now >= end_)) return std::nullopt;
    return std::min(batch_, limit_ - removed_);
  }
  void removed(const query::Expired& batch) {
    hasBegun_ = true;
    areMore_ = batch.areMore;
    removed_ += batch.documents;
  }
  /// Documents are left that the targets did not let it remove.
  bool areMore() const { return areMore_; }

 private:
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  TtlTurn(size_t batch, size_t limit, TimePoint end) : batch_(batch), limit_(limit), end_(end) {}

  const size_t batch_;
  const size_t limit_;
  const TimePoint end_;
  size_t removed_ = 0;
  bool hasBegun_ = false;
  bool areMore_ = true;
};

/// How many subpasses in a row each rule has not come to its end. Pure.
class TtlLag {
 public:
  void ended(const TtlSubpass& subpass) {
    std::map<query::ExpiryRule, int64_t> behind;
    for (const query::ExpiryRule& rule : subpass.left()) behind[rule] = of(rule) + 1;
    behind_ = std::move(behind);
  }
  int64_t of(const query::ExpiryRule& rule) const {
    const auto found = behind_.find(rule);
    return found == behind_.end() ? 0 : found->second;
  }
  size_t size() const { return behind_.size(); }

 private:
  std::map<query::ExpiryRule, int64_t> behind_;
};

}  // namespace troupe::maintenance
