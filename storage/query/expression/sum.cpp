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

void Sum::addDouble(double v) {  // Neumaier's compensated summation
  const double next = sum_ + v;
  compensation_ += std::fabs(sum_) >= std::fabs(v) ? (sum_ - next) + v : (v - next) + sum_;
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
  const double total = sum_ + (compensation_ + static_cast<double>(integers_));
  return decimals_ != 0 ? total + bson::toDoubleLossy(decimal_) : total;
}

bson::Decimal128 Sum::asDecimal() const {
  bson::Decimal128 total = decimal_;
  if (integers_ != 0) total = bson::add(total, bson::decimalFromInt64(static_cast<int64_t>(integers_)));
  if (doubles_ == 0) return total;
  double parts = sum_ + compensation_;
  if (nans_ > 0) parts = std::numeric_limits<double>::quiet_NaN();
  else if (infinities_[0] > 0) parts = std::numeric_limits<double>::infinity();
  else if (infinities_[1] > 0) parts = -std::numeric_limits<double>::infinity();
  return bson::add(total, bson::decimalFromDouble(parts));
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
