#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// The parts of a query that make its plan shape. Borrowed.
struct ShapedQuery {
  const MatchExpression* filter = nullptr;  ///< null: matches everything
  bson::View sort{};
  bson::View projection{};
};

/// What queries have in common that differ in their constants only: conditions in an order of their own, each with its
/// operator and its path; sort, projection and collation. Queries of one plan shape may share plans and index filters.
/// Bytes to be compared; `context` is the one the filter was parsed with. Errors: of an interrupt.
StatusWith<std::string> planShape(const ShapedQuery& query, const ParseContext& context);

/// A field of a command that counts for its query shape, and how.
struct ShapedField {
  enum class Kind {
    kFilter,      ///< in normal form, constants replaced by their types
    kVerbatim,    ///< as it is: sort, collation
    kProjection,  ///< which fields are shown or hidden, and how others are computed
    kExpression,  ///< constants replaced by their types: let, limit
    kPipeline,    ///< an array of stages
  };
  std::string_view name;
  Kind kind;
};

/// The shape by which query statistics and settings know a command: as planShape, but fields and conditions keep the
/// order they are given in, and operators of expressions count. 64 hexadecimal digits. Fields that are absent do not
/// count. Errors: of an interrupt; those of parsing a filter.
StatusWith<std::string> queryShapeHash(std::string_view command, std::string_view ns, bson::View fields,
                                       const std::vector<ShapedField>& shaped, const ParseContext& context);

/// Eight hexadecimal digits by which explain and the log call a plan shape.
std::string shortHash(std::string_view shape);

}  // namespace troupe::query
