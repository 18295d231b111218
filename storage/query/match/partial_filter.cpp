#include "storage/query/match/partial_filter.hpp"

#include "messaging/bson/json.hpp"

namespace troupe::query {

Status checkPartialFilter(const MatchExpression& filter) {
  switch (filter.kind()) {
    case MatchKind::kAlwaysTrue:
    case MatchKind::kAlwaysFalse:
    case MatchKind::kEq:
    case MatchKind::kLt:
    case MatchKind::kLte:
    case MatchKind::kGt:
    case MatchKind::kGte:
    case MatchKind::kIn:
    case MatchKind::kExists:
    case MatchKind::kType: return Status::OK();
    case MatchKind::kAnd:
    case MatchKind::kOr:
      for (const auto& child : filter.children()) TROUPE_TRY(checkPartialFilter(*child));
      return Status::OK();
    default:
      return {ErrorCode::kCannotCreateIndex,
              "Expression not supported in partial index: " + bson::toRelaxedJson(filter.toBson())};
  }
}

}  // namespace troupe::query
