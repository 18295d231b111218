#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/project/projection_tree.hpp"
#include "storage/records/record_id.hpp"

namespace troupe::query {

/// Beside the document, what a projection may show of a result.
struct ProjectionInput {
  bson::View document;
  bson::View sortKey{};                         ///< {$meta: "sortKey"}: an array of values
  double textScore = 0;                         ///< {$meta: "textScore"}
  const storage::RecordId* recordId = nullptr;  ///< {$meta: "recordId"}; borrowed
};

/// A find projection: inclusion, exclusion, computed fields, $slice, $elemMatch, positional `a.$`, $meta.
/// Immutable; owns its operands; borrows the filter it was parsed with (positional) and the context's collator and let.
class Projection {
 public:
  virtual ~Projection() = default;

  /// Fields listed are shown (with computed ones), or hidden.
  virtual bool isInclusion() const = 0;
  /// When only plain inclusion is asked: the top-level or dotted paths that suffice, so that a covered plan can serve
  /// it ("_id" among them when shown). Empty when the whole document is needed.
  virtual const std::vector<std::string>& requiredPaths() const = 0;
  virtual bool needsSortKey() const = 0;
  /// `a.$`: shows what made the filter match, thus only documents that match it.
  virtual bool isPositional() const = 0;
  /// Errors: 51246 (positional without a matching array element), those of expressions.
  virtual StatusWith<bson::Document> apply(const ProjectionInput& input) const = 0;
};

/// Parses find's `projection`. `filter` is needed for the positional operator; may be null.
/// Errors: 31249, 31250 (colliding paths), 31253, 31254 (mixed), 31255, 31256 (positional), 31324 and others.
StatusWith<std::unique_ptr<Projection>> parseProjection(bson::View spec, const MatchExpression* filter,
                                                        const ParseContext& context);

}  // namespace troupe::query
