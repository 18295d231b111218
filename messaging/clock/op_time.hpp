#pragma once
#include <compare>
#include <cstdint>

#include "messaging/bson/types.hpp"
#include "messaging/description/description.hpp"

namespace troupe {

/// The place of an operation in the history of a replica set: the term of the primary that wrote it, then its time. The
/// default is before everything. (OPL-006)
struct OpTime {
  int64_t term = 0;
  bson::Timestamp timestamp;
  auto operator<=>(const OpTime&) const = default;
};

}  // namespace troupe

TROUPE_DESCRIBE(troupe::OpTime, 0, term, timestamp)
