#include "storage/query/expression/accumulators.hpp"

#include <algorithm>
#include <limits>

#include "messaging/bson/numeric.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

Status AverageAccumulator::add(const Element& value) {
  if (!value.isNumber()) return Status::OK();
  sum_.add(value);
  ++count_;
  return Status::OK();
}

bool AverageAccumulator::remove(const Element& value) {
  if (!value.isNumber()) return true;
  sum_.remove(value);
  --count_;
  return true;
}

Status ExtremeAccumulator::add(const Element& value) {
  if (value.isNullish()) return Status::OK();
  if (best_.ok()) {
    const int order = bson::compareValues(value, best_.element(), collator_);
    if (largest_ ? order <= 0 : order >= 0) return Status::OK();
  }
  best_ = Value(value);
  return Status::OK();
}

Status FirstLastAccumulator::add(const Element& value) {
  if (last_ || !seen_) value_ = Value(value);
  seen_ = true;
  return Status::OK();
}

Status PushAccumulator::add(const Element& value) {
  if (!value.ok()) return Status::OK();
  items_.emplace_back(value);
  bytes_ += value.valueSize() + sizeof(Value);
  return Status::OK();
}

bool PushAccumulator::remove(const Element& value) {
  if (!value.ok()) return true;
  bytes_ -= value.valueSize() + sizeof(Value);
  items_.pop_front();
  return true;
}

template <class Items>
static Value arrayOf(const Items& items) {
  bson::Builder out;
  for (const Value& v : items) out.push(v);
  return out.finishArray();
}

StatusWith<Value> PushAccumulator::result() const { return arrayOf(items_); }

Status AddToSetAccumulator::add(const Element& value) {
  if (!value.ok() || items_.find(value) != items_.end()) return Status::OK();
  items_.emplace(value);
  bytes_ += value.valueSize() + kBytesPerItem;
  return Status::OK();
}

StatusWith<Value> AddToSetAccumulator::result() const { return arrayOf(items_); }

Status DeviationAccumulator::add(const Element& value) {  // Welford's method
  if (!value.isNumber()) return Status::OK();
  const double v = value.is(Type::kDecimal128) ? bson::toDoubleLossy(value.asDecimal()) : value.toDouble();
  ++count_;
  const double delta = v - mean_;
  mean_ += delta / static_cast<double>(count_);
  squares_ += delta * (v - mean_);
  return Status::OK();
}

StatusWith<Value> DeviationAccumulator::result() const {
  const int64_t divisor = sample_ ? count_ - 1 : count_;
  if (divisor <= 0) return nullValue();
  return real(std::sqrt(squares_ / static_cast<double>(divisor)));
}

Status MergeObjectsAccumulator::add(const Element& value) {
  if (value.isNullish()) return Status::OK();
  if (!value.is(Type::kDocument))
    return {ErrorCode(40400),
            "$mergeObjects requires object inputs, but input " + show(value) + " is of type " + typeOf(value)};
  return merged_.add(value.asDocument(), work_);
}

StatusWith<Value> MergeObjectsAccumulator::result() const {
  bson::Builder out;
  merged_.appendTo(out);
  return document(out.finish());
}

Status OutermostAccumulator::add(const Element& value) {
  if (!last_ && items_.size() == n_) return Status::OK();
  items_.push_back(value.ok() ? Value(value) : nullValue());
  bytes_ += items_.back().valueBytes().size() + kBytesPerItem;
  if (items_.size() <= n_) return Status::OK();
  bytes_ -= items_.front().valueBytes().size() + kBytesPerItem;
  items_.pop_front();
  return Status::OK();
}

StatusWith<Value> OutermostAccumulator::result() const { return arrayOf(items_); }

Status ExtremesAccumulator::add(const Element& value) {
  if (value.isNullish()) return Status::OK();
  const auto at = items_.upper_bound(value);
  if (items_.size() == n_ && at == items_.end()) return Status::OK();
  items_.emplace_hint(at, value);
  bytes_ += value.valueSize() + kBytesPerItem;
  if (items_.size() <= n_) return Status::OK();
  const auto worst = std::prev(items_.end());
  bytes_ -= worst->valueBytes().size() + kBytesPerItem;
  items_.erase(worst);
  return Status::OK();
}

StatusWith<Value> ExtremesAccumulator::result() const { return arrayOf(items_); }

std::unique_ptr<Accumulator> makeAccumulator(std::string_view name, const bson::Collator* collator, QueryWork* work) {
  if (name == "$sum") return std::make_unique<SumAccumulator>();
  if (name == "$avg") return std::make_unique<AverageAccumulator>();
  if (name == "$min" || name == "$max") return std::make_unique<ExtremeAccumulator>(name == "$max", collator);
  if (name == "$first" || name == "$last") return std::make_unique<FirstLastAccumulator>(name == "$last");
  if (name == "$push") return std::make_unique<PushAccumulator>();
  if (name == "$addToSet") return std::make_unique<AddToSetAccumulator>(collator);
  if (name == "$stdDevPop" || name == "$stdDevSamp")
    return std::make_unique<DeviationAccumulator>(name == "$stdDevSamp");
  if (name == "$mergeObjects") return std::make_unique<MergeObjectsAccumulator>(work);
  if (name == "$count") return std::make_unique<CountAccumulator>();
  return nullptr;
}

}  // namespace troupe::query
