#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// `arrayFilters` of an update: which elements `$[identifier]` stands for. Immutable after parsing; used by one thread
/// at a time, as its operation is.
class ArrayFilters {
 public:
  /// Errors: FailedToParse (no or several identifiers, the same one twice), BadValue (its spelling), those of filters.
  static StatusWith<ArrayFilters> parse(bson::View filters, const ParseContext& context);

  using Filters = std::map<std::string, std::unique_ptr<MatchExpression>, std::less<>>;

  bool has(std::string_view identifier) const { return byIdentifier_.contains(identifier); }
  const Filters& byIdentifier() const { return byIdentifier_; }
  /// `identifier` is known. Errors: of expressions in the filter, of an interrupt.
  StatusWith<bool> matches(std::string_view identifier, const bson::Element& element) const;

 private:
  Filters byIdentifier_;
  QueryWork* work_ = nullptr;
};

}  // namespace troupe::query
