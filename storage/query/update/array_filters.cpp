#include "storage/query/update/array_filters.hpp"

#include <algorithm>
#include <cctype>

#include "storage/query/match/match_parser.hpp"

namespace troupe::query {
namespace {

Status whileParsing(const Status& cause) {
  return {cause.code(), "Error parsing array filter :: caused by :: " + cause.reason()};
}

/// Collects the first component of every path below.
void addRoots(const MatchExpression& e, std::vector<std::string>& roots) {
  if (!e.path().empty()) {
    const std::string root(e.fieldPath()[0]);
    if (std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
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
    if (result.has(roots[0]))
      return {ErrorCode::kFailedToParse, "Found multiple array filters with the same top-level field name " + roots[0]};
    result.names_.push_back(roots[0]);
    result.filters_.push_back(std::move(filter).value());
  }
  return result;
}

bool ArrayFilters::matches(std::string_view identifier, const bson::Element& element) const {
  bson::Builder wrapped;
  wrapped.append(identifier, element);
  return find(identifier)->matches(wrapped.finish());
}

const MatchExpression* ArrayFilters::find(std::string_view identifier) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == identifier) return filters_[i].get();
  return nullptr;
}

}  // namespace troupe::query
