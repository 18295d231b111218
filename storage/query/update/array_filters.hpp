#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// `arrayFilters` of an update: which elements `$[identifier]` stands for. Immutable after parsing.
class ArrayFilters {
 public:
  /// Errors: FailedToParse (no or several identifiers, the same one twice), BadValue (its spelling), those of filters.
  static StatusWith<ArrayFilters> parse(bson::View filters, const ParseContext& context);

  bool has(std::string_view identifier) const { return find(identifier) != nullptr; }
  const std::vector<std::string>& identifiers() const { return names_; }
  /// `identifier` is known.
  bool matches(std::string_view identifier, const bson::Element& element) const;

 private:
  const MatchExpression* find(std::string_view identifier) const;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<MatchExpression>> filters_;
};

}  // namespace troupe::query
