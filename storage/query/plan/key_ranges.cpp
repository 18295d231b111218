#include "storage/query/plan/key_ranges.hpp"

#include <algorithm>

#include "storage/keys/key_component.hpp"
#include "storage/keys/key_string.hpp"

namespace troupe::query {

namespace {

using storage::key_string::compareComponents;
using storage::key_string::componentSize;

constexpr char kBefore = '\x01', kAfter = '\xFE';

std::string encode(const bson::Value& value, bool descending) {
  storage::key_string::Builder key{storage::Ordering(descending ? 1 : 0)};
  key.append(value.element());
  const std::string_view bytes = key.bytes();
  return std::string(bytes.substr(0, bytes.size() - 1));
}

bool isPoint(const auto& range) { return range.low == range.high && range.lowInclusive && range.highInclusive; }

}  // namespace

KeyRanges::KeyRanges(const std::vector<Intervals>& bounds, const std::vector<bool>& descending, bool forward,
                     QueryWork* work)
    : forward_(forward) {
  firstDescending_ = !descending.empty() && descending.front();
  for (size_t i = 0; i < bounds.size() && interrupt_.isOK(); ++i) interrupt_ = addField(bounds[i], descending[i], work);
  if (!interrupt_.isOK()) return;
  while (!fields_.empty() && fields_.back().all) fields_.pop_back();
  if (empty_) return;
  single_ = makeSingle();
  if (!single_) appendStart(0, forward_ ? lower_ : upper_);
}

Status KeyRanges::addField(const Intervals& intervals, bool descending, QueryWork* work) {
  Field field;
  field.descending = descending;
  field.all = isAll(intervals);
  for (const Interval& interval : intervals) {
    Range range{encode(interval.low, descending), encode(interval.high, descending), interval.lowInclusive,
                interval.highInclusive};
    if (work) TROUPE_TRY(work->step(stepsFor(range.low.size() + range.high.size())));
    if (descending) {
      std::swap(range.low, range.high);
      std::swap(range.lowInclusive, range.highInclusive);
    }
    field.ranges.push_back(std::move(range));
  }
  if (descending) std::reverse(field.ranges.begin(), field.ranges.end());
  empty_ = empty_ || field.ranges.empty();
  fields_.push_back(std::move(field));
  return Status::OK();
}

/// Points on all fields but the last make one stretch of keys.
bool KeyRanges::makeSingle() {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].ranges.size() != 1 || (i + 1 < fields_.size() && !isPoint(fields_[i].ranges.front()))) return false;
  }
  if (fields_.empty()) return true;
  for (size_t i = 0; i + 1 < fields_.size(); ++i) lower_ += fields_[i].ranges.front().low;
  upper_ = lower_;
  const Range& last = fields_.back().ranges.front();
  lower_ += last.low;
  lower_ += last.lowInclusive ? kBefore : kAfter;
  upper_ += last.high;
  upper_ += last.highInclusive ? kAfter : kBefore;
  return true;
}

void KeyRanges::appendStart(size_t field, std::string& out) const {
  for (; field < fields_.size(); ++field) {
    const Range& range = forward_ ? fields_[field].ranges.front() : fields_[field].ranges.back();
    out += forward_ ? range.low : range.high;
    const bool inclusive = forward_ ? range.lowInclusive : range.highInclusive;
    if (!inclusive) return out.push_back(forward_ ? kAfter : kBefore);
  }
  out.push_back(forward_ ? kBefore : kAfter);
}

KeyRanges::Verdict KeyRanges::check(std::string_view key, std::string& target) const {
  if (single_) {
    const bool within = (lower_.empty() || key > lower_) && (upper_.empty() || key < upper_);
    return within ? Verdict::kInside : Verdict::kEnd;
  }
  size_t at = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i];
    const size_t size = componentSize(key.substr(at), field.descending);
    if (size == 0) return Verdict::kEnd;
    const std::string_view component = key.substr(at, size);
    if (!field.all) {
      // The first range that does not end before the component, in the scan's direction.
      const auto passed = [&](const Range& range) {
        const int order = compareComponents(component, forward_ ? range.high : range.low);
        return (forward_ ? order > 0 : order < 0) ||
               (order == 0 && !(forward_ ? range.highInclusive : range.lowInclusive));
      };
      const Range* range = nullptr;
      if (forward_) {
        const auto it = std::partition_point(field.ranges.begin(), field.ranges.end(), passed);
        if (it != field.ranges.end()) range = &*it;
      } else {
        const auto it = std::partition_point(field.ranges.rbegin(), field.ranges.rend(), passed);
        if (it != field.ranges.rend()) range = &*it;
      }
      if (!range) {
        if (i == 0) return Verdict::kEnd;
        target.assign(key.substr(0, at)).push_back(forward_ ? kAfter : kBefore);
        return Verdict::kSeek;
      }
      const int order = compareComponents(component, forward_ ? range->low : range->high);
      const bool inclusive = forward_ ? range->lowInclusive : range->highInclusive;
      if ((forward_ ? order < 0 : order > 0) || (order == 0 && !inclusive)) {
        target.assign(key.substr(0, at)).append(forward_ ? range->low : range->high);
        if (!inclusive) target.push_back(forward_ ? kAfter : kBefore);
        else appendStart(i + 1, target);
        return Verdict::kSeek;
      }
    }
    at += size;
  }
  return Verdict::kInside;
}

std::string KeyRanges::pastFirstComponent(std::string_view key) const {
  std::string out(key.substr(0, componentSize(key, firstDescending_)));
  out.push_back(forward_ ? kAfter : kBefore);
  return out;
}

}  // namespace troupe::query
