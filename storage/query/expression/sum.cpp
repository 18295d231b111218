#include "storage/query/expression/sum.hpp"

#include <cmath>
#include <limits>

#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/values.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

void Sum::count(Type type, int by) {
  if (type == Type::kInt64) longs_ += by;
  else if (type == Type::kDouble) doubles_ += by;
  else if (type == Type::kDecimal128) decimals_ += by;
}

namespace {

__extension__ typedef __int128 WideInteger;

/// Exact up to the 34 digits of a decimal, which a sum of 64-bit integers does not reach.
bson::Decimal128 decimalOf(WideInteger v) {
  constexpr int64_t kUnit = 1'000'000'000'000'000'000;
  const bson::Decimal128 upper = bson::decimalFromInt64(static_cast<int64_t>(v / kUnit));
  return bson::add(bson::multiply(upper, bson::decimalFromInt64(kUnit)),
                   bson::decimalFromInt64(static_cast<int64_t>(v % kUnit)));
}

}  // namespace

/// Neumaier's compensated summation. A sum that has passed the largest double stays infinite, as one of doubles does.
void Sum::addDouble(double v) {
  const double next = sum_ + v;
  if (std::isfinite(next)) compensation_ += std::fabs(sum_) >= std::fabs(v) ? (sum_ - next) + v : (v - next) + sum_;
  sum_ = next;
}

void Sum::addSigned(const Element& number, bool negative) {
  const int by = negative ? -1 : 1;
  switch (number.type()) {
    case Type::kInt32: integers_ += by * number.asInt32(); return;
    case Type::kInt64: integers_ += static_cast<decltype(integers_)>(by) * number.asInt64(); break;
    case Type::kDouble: {
      const double v = number.asDouble();
      if (std::isnan(v)) nans_ += by;
      else if (std::isinf(v)) infinities_[v < 0] += by;
      else addDouble(negative ? -v : v);
      break;
    }
    case Type::kDecimal128: {
      if (decimals_ == 0) decimal_ = bson::decimalFromInt64(0);
      decimal_ = negative ? bson::subtract(decimal_, number.asDecimal()) : bson::add(decimal_, number.asDecimal());
      break;
    }
    default: return;
  }
  count(number.type(), by);
}

void Sum::add(const Element& number) { addSigned(number, false); }
void Sum::remove(const Element& number) { addSigned(number, true); }

double Sum::asDouble() const {
  if (nans_ > 0 || (infinities_[0] > 0 && infinities_[1] > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (infinities_[0] > 0) return std::numeric_limits<double>::infinity();
  if (infinities_[1] > 0) return -std::numeric_limits<double>::infinity();
  const double total = std::isfinite(sum_) ? sum_ + (compensation_ + static_cast<double>(integers_)) : sum_;
  return decimals_ != 0 ? total + bson::toDoubleLossy(decimal_) : total;
}

bson::Decimal128 Sum::asDecimal() const {
  bson::Decimal128 total = decimal_;
  if (integers_ != 0) total = bson::add(total, decimalOf(integers_));
  if (doubles_ == 0) return total;
  const bool finite = nans_ == 0 && infinities_[0] == 0 && infinities_[1] == 0 && std::isfinite(sum_);
  const double parts = finite ? sum_ + compensation_ : asDouble();
  if (conversion_ == Doubles::kConverted || !finite) return bson::add(total, bson::decimalFromDouble(parts));
  total = bson::add(total, bson::decimalFromDoubleExact(sum_));
  return compensation_ == 0 ? total : bson::add(total, bson::decimalFromDoubleExact(compensation_));
}

Value Sum::value() const {
  if (decimals_ != 0) return decimal(asDecimal());
  const bool fits =
      integers_ >= std::numeric_limits<int64_t>::min() && integers_ <= std::numeric_limits<int64_t>::max();
  if (doubles_ != 0 || !fits) return real(asDouble());
  const auto total = static_cast<int64_t>(integers_);
  return longs_ != 0 ? int64(total) : integer(total);
}

Value Sum::average(int64_t count) const {
  if (decimals_ != 0) return decimal(bson::divide(asDecimal(), bson::decimalFromInt64(count)));
  return real(asDouble() / static_cast<double>(count));
}

}  // namespace troupe::query
