#pragma once
#include <deque>
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
