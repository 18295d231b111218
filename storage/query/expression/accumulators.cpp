#include "storage/query/expression/accumulators.hpp"

#include <algorithm>
#include <limits>

#include "messaging/bson/arithmetic.hpp"
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

namespace {

Status arrayOnly(const char* name, const Element& value) {
  return {ErrorCode::kTypeMismatch,
          std::string(name) + " requires array inputs, but input " + show(value) + " is of type " + typeOf(value)};
}

/// Adds the elements of an array. The caller charges what is held only afterwards, and an array may hold many elements:
/// until then a growth stands for them, which charges everything twice.
Status addElements(Accumulator& items, bson::View array, QueryWork* work) {
  const size_t before = items.memory();
  Growth growth(work);
  for (const Element& item : array) {
    TROUPE_TRY(items.add(item));
    TROUPE_TRY(growth.to((items.memory() - before) / 2));
  }
  return Status::OK();
}

}  // namespace

Status ConcatenationAccumulator::add(const Element& value) {
  if (!value.ok()) return Status::OK();
  if (!value.is(Type::kArray)) return arrayOnly("$concatArrays", value);
  return addElements(items_, value.asArray(), work_);
}

bool ConcatenationAccumulator::remove(const Element& value) {
  if (!value.ok()) return true;
  for (const Element& item : value.asArray()) items_.remove(item);
  return true;
}

Status UnionAccumulator::add(const Element& value) {
  if (!value.ok()) return Status::OK();
  if (!value.is(Type::kArray)) return arrayOnly("$setUnion", value);
  return addElements(items_, value.asArray(), work_);
}

namespace {

bool isFinite(const Element& e) {
  if (e.is(Type::kDecimal128)) return !bson::isNaN(e.asDecimal()) && !bson::isInfinite(e.asDecimal());
  return std::isfinite(e.toDouble());
}

/// The two numbers of a pair; absent elements where the value is no such pair.
std::pair<Element, Element> pairOf(const Element& value) {
  if (!value.is(Type::kArray) || value.asArray().count() != 2) return {};
  const Element x = value.asArray().first(), y = *++value.asArray().begin();
  if (!x.isNumber() || !y.isNumber()) return {};
  return {x, y};
}

}  // namespace

/// Takes `x * (y - mean of y)` into the products, or out of them; `x` is a distance already.
Status CovarianceAccumulator::adjust(const Value& x, const Element& y, bool negative) {
  TROUPE_ASSIGN(const Value distance, bson::subtract(y, y_.average(count_).element(), bson::Overflow::kWiden));
  TROUPE_ASSIGN(const Value product, bson::multiply(x.element(), distance.element(), bson::Overflow::kWiden));
  auto sum = negative ? bson::subtract(products_.element(), product.element(), bson::Overflow::kWiden)
                      : bson::add(products_.element(), product.element(), bson::Overflow::kWiden);
  TROUPE_ASSIGN(products_, std::move(sum));
  return Status::OK();
}

Status CovarianceAccumulator::add(const Element& value) {
  const auto [x, y] = pairOf(value);
  if (!x) return Status::OK();
  if (!isFinite(x) || !isFinite(y)) {
    ++infinitePairs_;
    infinite_.add(x);
    infinite_.add(y);
    return Status::OK();
  }
  Value distance;
  if (count_ > 0) {
    TROUPE_ASSIGN(distance, bson::subtract(x, x_.average(count_).element(), bson::Overflow::kWiden));
  }
  x_.add(x);
  y_.add(y);
  ++count_;
  return count_ > 1 ? adjust(distance, y, false) : Status::OK();
}

bool CovarianceAccumulator::remove(const Element& value) {
  const auto [x, y] = pairOf(value);
  if (!x) return true;
  if (!isFinite(x) || !isFinite(y)) {
    --infinitePairs_;
    infinite_.remove(x);
    infinite_.remove(y);
    return true;
  }
  // The reverse of adding this pair last.
  Sum others = x_;
  others.remove(x);
  if (count_ > 1) {
    const auto distance = bson::subtract(x, others.average(count_ - 1).element(), bson::Overflow::kWiden);
    if (!distance.isOK() || !adjust(*distance, y, true).isOK()) return false;
  }
  x_ = others;
  y_.remove(y);
  if (--count_ == 0) products_ = real(0);
  return true;
}

StatusWith<Value> CovarianceAccumulator::result() const {
  const int64_t divisor = sample_ ? count_ - 1 : count_;
  if (divisor <= 0) return nullValue();
  if (infinitePairs_ > 0) return infinite_.value();
  return bson::divide(products_.element(), int64(divisor).element());
}

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
  if (name == "$concatArrays") return std::make_unique<ConcatenationAccumulator>(work);
  if (name == "$setUnion") return std::make_unique<UnionAccumulator>(collator, work);
  if (name == "$covariancePop" || name == "$covarianceSamp")
    return std::make_unique<CovarianceAccumulator>(name == "$covarianceSamp");
  if (name == "$count") return std::make_unique<CountAccumulator>();
  return nullptr;
}

}  // namespace troupe::query
