#pragma once
#include <cstdint>
#include <optional>

#include "storage/query/match/match_expression.hpp"
#include "storage/query/plan/interval.hpp"

namespace troupe::bson {
class Collator;
}

namespace troupe::query {

/// How much of a predicate its bounds say.
enum class Tightness : uint8_t {
  kExact,           ///< just the keys within them
  kInexactCovered,  ///< the predicate must be tested again; the key's value is enough for it
  kInexactFetch,    ///< ... on the document
};

struct PredicateBounds {
  Intervals intervals;
  Tightness tightness = Tightness::kExact;
};

/// Properties of an index field that bounds depend on.
struct BoundsContext {
  const bson::Collator* collator = nullptr;  ///< the index's
  bool multikey = false;                     ///< some document has an array on the field's path
  bool hashed = false;
  QueryWork* work = nullptr;  ///< may be null
};

/// The keys among which the keys of all matching documents have at least one; nothing when the predicate says nothing
/// about keys. `node` is a leaf, a $not over a leaf, or a value $elemMatch. Errors: of an interrupt.
StatusWith<std::optional<PredicateBounds>> boundsOf(const MatchExpression& node, const BoundsContext& context);

/// Whether the predicate's answer depends on the order of strings.
bool comparesStrings(const MatchExpression& node);

}  // namespace troupe::query
