#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "test/checkers/comparison.hpp"
#include "test/simulation/driver.hpp"

namespace troupe::sim {

/// What an audit of a data node found.
struct Findings {
  std::string broken;                 ///< all that disagrees of indexes, records and counts; empty: nothing
  int64_t countedBefore = 0;          ///< the fast count of test.items before the collections were validated
  std::vector<bson::Document> items;  ///< of test.items
};

/// Over the wire, and while nobody writes: has the node count, then validate all collections (which mends the fast
/// counts after a crash), and compares test.items by a scan of the collection, by each of its indexes, by count and by
/// groups of an aggregation. Errors: of commands that were not answered.
Task<StatusWith<Findings>> auditContents(Driver& driver);

/// All that the collections hold, durable before it returns. Errors: of commands that were not answered.
Task<StatusWith<checkers::Contents>> readContents(Driver& driver);

}  // namespace troupe::sim
