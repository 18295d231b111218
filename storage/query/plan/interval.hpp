#pragma once
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::query {

/// A range of values of one index field, from low to high in the order of values. With a collation its strings are
/// comparison keys, as in the index.
struct Interval {
  bson::Value low, high;
  bool lowInclusive = true;
  bool highInclusive = true;

  static Interval point(const bson::Element& value);
  static Interval all();
  bool isPoint() const;
  bool isAll() const;
  /// "[1, 5)"; strings as hexadecimal when `collated`.
  std::string text(bool collated) const;
};

/// Disjoint, not empty, in ascending order.
using Intervals = std::vector<Interval>;

/// Puts intervals in order and joins those that meet.
Intervals unite(Intervals intervals);
Intervals intersect(const Intervals& a, const Intervals& b);
/// All values that are in none of them.
Intervals complement(const Intervals& intervals);
bool isAll(const Intervals& intervals);
bool arePoints(const Intervals& intervals);

/// All values that compare with values of a type: its bracket. NaN is left out of that of numbers.
Interval typeBracket(bson::Type type);

}  // namespace troupe::query
