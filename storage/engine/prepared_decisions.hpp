#pragma once
#include <cstdint>

#include "storage/engine/watermark.hpp"

namespace troupe::storage {

/// How many prepared transactions of one engine were committed or rolled back, so that an operation that failed with
/// PreparedTransactionInProgress can be retried. It reads the count before it touches data; after the conflict
/// `whenPast` misses no decision made since. Any thread.
using PreparedDecisions = Watermark<uint64_t>;

}  // namespace troupe::storage
