#include "supervisors/admin/queries.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace troupe::supervisors {

HttpResponse json(const Json& body, unsigned status) {
  HttpResponse response;
  response.status = status;
  response.body = dump(body) + "\n";
  return response;
}

Status checkNames(const HttpRequest& request, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return {ErrorCode::kBadValue, "unknown query parameter '" + name + "'"};
  }
  return Status::OK();
}

std::string parameter(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

StatusWith<bool> flag(const HttpRequest& request, const std::string& name, bool absent) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return absent;
  const std::string& value = found->second;
  if (value.empty() || value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return Status(ErrorCode::kBadValue, name + " must be 1 or 0, not '" + value + "'");
}

StatusWith<size_t> limitOf(const HttpRequest& request, size_t absent) {
  const std::string text = parameter(request, "limit");
  if (text.empty()) return absent;
  size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size())
    return Status(ErrorCode::kBadValue, "limit must be a number from 0 on, not '" + text + "'");
  return limit;
}

StatusWith<RowQuery> readRowQuery(const HttpRequest& request) {
  TROUPE_TRY(checkNames(request, {"tree", "members", "type", "phase", "under", "sort", "limit"}));
  RowQuery query;
  query.filter.type = parameter(request, "type");
  query.filter.phase = parameter(request, "phase");
  query.filter.under = parameter(request, "under");
  query.filter.sort = parameter(request, "sort");
  if (!query.filter.under.empty() && query.filter.under.front() != '/')
    return Status(ErrorCode::kBadValue, "under must be a path such as /node/storage");
  const std::string_view field = std::string_view(query.filter.sort).substr(query.filter.sort.starts_with('-') ? 1 : 0);
  if (!query.filter.sort.empty() && !isRowField(field))
    return Status(ErrorCode::kBadValue, "rows have no field '" + std::string(field) + "' to sort by");
  TROUPE_ASSIGN(query.limit, limitOf(request, 0));
  TROUPE_ASSIGN(query.tree, flag(request, "tree", false));
  TROUPE_ASSIGN(query.members, flag(request, "members", false));
  if (query.tree && query.members)
    return Status(ErrorCode::kBadValue, "rows of all members are listed, not nested: ask for tree or for members");
  return query;
}

StatusWith<StepQuery> readStepQuery(const HttpRequest& request) {
  TROUPE_TRY(checkNames(request, {"under", "machine", "instance", "moves", "members", "limit"}));
  StepQuery query;
  TransitionFilter& filter = query.filter;
  filter.under = parameter(request, "under");
  filter.machine = parameter(request, "machine");
  filter.instance = parameter(request, "instance");
  TROUPE_ASSIGN(filter.movesOnly, flag(request, "moves", false));
  TROUPE_ASSIGN(filter.limit, limitOf(request, filter.limit));
  if (filter.limit == 0) filter.limit = TransitionLog::kRecords;
  TROUPE_ASSIGN(query.members, flag(request, "members", false));
  return query;
}

/// The entry of a child in its supervisor's state document.
bson::Document specificationOf(bson::View supervisor, const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const bson::Element children = supervisor["children"];
  if (!children.is(bson::Type::kArray)) return {};
  for (const bson::Element& child : children.asArray()) {
    if (child.is(bson::Type::kDocument) && child.asDocument()["name"].toStringOr() == name)
      return bson::Document(child.asDocument());
  }
  return {};
}

}  // namespace troupe::supervisors
