#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "storage/catalog/collection.hpp"
#include "storage/query/plan/interval.hpp"
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::query {

/// How one index is read, and what is still to be tested then. Move-only; the conditions are borrowed from the filter.
struct IndexPlan {
  storage::IndexPtr index;
  std::vector<Intervals> bounds;  ///< for each field of the index
  std::string from, to;           ///< instead of bounds, from min() and max(): whole keys from <= key < to; empty: open
  bool keyRange = false;          ///< from and to are in force
  bool forward = true;
  bool providesSort = false;
  bool multikey = false;         ///< when planned
  uint32_t exactBounds = 0;      ///< fields with bounds that tell exactly what matches while they meet no array
  Conjuncts keyFilter;           ///< can be tested on the key
  Conjuncts residual;            ///< must be tested on the document
  uint64_t used = 0;             ///< which predicates of the query gave bounds
  int equalities = 0;            ///< leading fields with nothing but points
  int bounded = 0;               ///< leading fields with bounds
  storage::MemoryCharge memory;  ///< of the plan and of the scan that is made of it

  /// Charges the operation, unless it is no more than `free` bytes. Errors: ExceededMemoryLimit.
  Status charge(QueryWork* work, size_t free);
  /// Whether documents have come whose keys lie within the bounds though they do not match.
  bool outgrown() const;
  /// Every key is read.
  bool isUnbounded() const { return keyRange ? from.empty() && to.empty() : bounded == 0; }
  bool isDescending(size_t field) const { return index->spec.fields[field].descending; }
  /// `{a: ["[1, 5)"]}`, in the direction of the scan; up to an interrupt of `work`, or kMostExplained bytes of `out`.
  void explainBounds(bson::Builder& out, QueryWork* work) const;
};

}  // namespace troupe::query
