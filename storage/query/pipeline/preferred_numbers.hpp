#pragma once
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::query {

/// A series of preferred numbers (Renard series, E series, 1-2-5, powers of two), to which $bucketAuto rounds the
/// bounds of its buckets.
class PreferredNumbers {
 public:
  /// Errors: 40257 for a name that is none of `R5 R10 R20 R40 R80 1-2-5 E6 E12 E24 E48 E96 E192 POWERSOF2`.
  static StatusWith<PreferredNumbers> named(std::string_view name);

  /// The least number of the series greater than `value`, and the greatest that is less. `value` is a number, at least
  /// 0; 0 and infinity have no neighbour and stay as they are. Decimals give decimals.
  bson::Value above(const bson::Element& value) const;
  bson::Value below(const bson::Element& value) const;

 private:
  bson::Value neighbour(const bson::Element& value, bool above) const;
  double inDecades(double value, bool above) const;

  std::vector<int> digits_;  ///< of one decade, ascending; empty: powers of two
  int firstDigits_ = 1;      ///< the first of them, a power of ten
};

}  // namespace troupe::query
