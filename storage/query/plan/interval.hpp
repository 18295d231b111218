#pragma once
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/query/query_work.hpp"

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

// Lists may hold a million intervals, so that each takes steps of `work` (null: none). An interrupt ends the loop: the
// result means nothing then, and the caller's next step says so.

/// Puts intervals in order and joins those that meet.
Intervals unite(Intervals intervals, QueryWork* work);
Intervals intersect(const Intervals& a, const Intervals& b, QueryWork* work);
/// All values that are in none of them.
Intervals complement(const Intervals& intervals, QueryWork* work);
bool isAll(const Intervals& intervals);
bool arePoints(const Intervals& intervals);

/// All values that compare with values of a type: its bracket. NaN is left out of that of numbers.
Interval typeBracket(bson::Type type);

}  // namespace troupe::query
