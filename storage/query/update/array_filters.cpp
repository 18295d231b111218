#include "storage/query/update/array_filters.hpp"

#include <algorithm>
#include <cctype>

#include "storage/query/match/match_parser.hpp"

namespace troupe::query {
namespace {

Status whileParsing(const Status& cause) {
  return {cause.code(), "Error parsing array filter :: caused by :: " + cause.reason()};
}

/// Collects the first components of the paths below, until there are two.
void addRoots(const MatchExpression& e, std::vector<std::string>& roots) {
  if (roots.size() > 1) return;
  if (!e.path().empty()) {
    const std::string root(e.fieldPath()[0]);
    if (roots.empty() || roots.front() != root) roots.push_back(root);
    return;
  }
  for (const auto& child : e.children()) addRoots(*child, roots);
}

bool isIdentifier(std::string_view name) {
  return !name.empty() && std::islower(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); });
}

}  // namespace

StatusWith<ArrayFilters> ArrayFilters::parse(bson::View filters, const ParseContext& context) {
  ArrayFilters result;
  result.work_ = context.work;
  for (const auto& e : filters) {
    if (!e.is(bson::Type::kDocument)) return {ErrorCode::kTypeMismatch, "arrayFilters must be an array of documents"};
    auto filter = parseMatch(e.asDocument(), context);
    if (!filter.isOK()) return whileParsing(filter.status());
    std::vector<std::string> roots;
    addRoots(**filter, roots);
    if (roots.empty())
      return {ErrorCode::kFailedToParse, "Cannot use an expression without a top-level field name in arrayFilters"};
    if (roots.size() > 1)
      return whileParsing({ErrorCode::kFailedToParse,
                           "Expected a single top-level field name, found '" + roots[0] + "' and '" + roots[1] + "'"});
    if (!isIdentifier(roots[0]))
      return whileParsing({ErrorCode::kBadValue,
                           "The top-level field name must be an alphanumeric string beginning with a "
                           "lowercase letter, found '" +
                               roots[0] + "'"});
    if (!result.byIdentifier_.emplace(roots[0], std::move(filter).value()).second)
      return {ErrorCode::kFailedToParse, "Found multiple array filters with the same top-level field name " + roots[0]};
  }
  return result;
}

StatusWith<bool> ArrayFilters::matches(std::string_view identifier, const bson::Element& element) const {
  bson::Builder wrapped;
  wrapped.append(identifier, element);
  MatchDetails details;
  details.work = work_;
  const bool matched = byIdentifier_.find(identifier)->second->matches(wrapped.finish(), &details);
  if (!details.error.isOK()) return details.error;
  return matched;
}

}  // namespace troupe::query
