#pragma once
#include <cstdint>

#include "messaging/bson/document.hpp"

namespace troupe::query {

/// A running sum of numbers of any type, with the widening of $add and $sum: int32, else int64, double when an int64
/// overflows or any double was added, decimal when any decimal was. Doubles are summed with compensation.
class Sum {
 public:
  /// How doubles enter a decimal sum: with all their digits (accumulators), or with the 15 of a conversion ($add).
  enum class Doubles { kExact, kConverted };
  explicit Sum(Doubles doubles = Doubles::kExact) : conversion_(doubles) {}
  /// Adds a number; other types are the caller's business.
  void add(const bson::Element& number);
  /// Takes a number out again (windows). Exact for integers.
  void remove(const bson::Element& number);
  /// The sum in the widest type seen.
  bson::Value value() const;
  /// The sum divided by `count`: a double, or a decimal when any was added.
  bson::Value average(int64_t count) const;
  bool sawDecimal() const { return decimals_ != 0; }
  double asDouble() const;

 private:
  void addDouble(double v);
  void count(bson::Type type, int by);
  void addSigned(const bson::Element& number, bool negative);
  bson::Decimal128 asDecimal() const;
  Doubles conversion_;
  __extension__ __int128 integers_ = 0;
  double sum_ = 0;
  double compensation_ = 0;
  int64_t infinities_[2] = {0, 0};
  int64_t nans_ = 0;
  int64_t longs_ = 0;
  int64_t doubles_ = 0;
  int64_t decimals_ = 0;
  bson::Decimal128 decimal_{};
};

}  // namespace troupe::query
