#pragma once
#include <cstddef>
#include <cstdint>

#include "messaging/bson/view.hpp"

namespace troupe::bson {
class Collator;
}

namespace troupe::query {

/// Limits that parsing and running a query obeys; the defaults are those of server parameters.
struct QueryLimits {
  size_t sortMemoryBytes = size_t{100} << 20;   ///< a blocking sort beyond this spills or fails
  size_t stageMemoryBytes = size_t{100} << 20;  ///< a blocking stage, such as $group, beyond this spills or fails
  int filterDepth = bson::kMaxNestingDepth;     ///< deeper nested filters and expressions are refused (Overflow)
  bool allowDiskUse = true;
};

class IndexFilters;
class QueryWork;

/// Context in which filters, projections, updates, sorts and expressions are parsed. Borrowed: collator,
/// `let` and work must outlive everything parsed with them. A plain value; any thread.
struct ParseContext {
  const bson::Collator* collator = nullptr;  ///< null: strings compare bytewise
  bson::Date now{};                          ///< $$NOW, and $currentDate's date; one value an operation
  bson::Timestamp clusterTime{};             ///< $$CLUSTER_TIME and $currentDate's timestamp
  bson::View let{};                          ///< the command's `let` variables, already evaluated: name -> value
  QueryLimits limits{};
  QueryWork* work = nullptr;  ///< null: no operation; slices of work end by rows alone, and memory has no limit
  const IndexFilters* indexFilters = nullptr;  ///< of the node; null: plans may use any index
};

}  // namespace troupe::query
