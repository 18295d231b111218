// The addresses that tell of all members of the replica set, or of an actor of another member.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "messaging/bson/compare.hpp"
#include "supervisors/admin/admin_api.hpp"

namespace troupe::supervisors {

namespace {

Status noSet() { return {ErrorCode::kIllegalOperation, "this node cannot ask others"}; }

/// As the rows of one node are sorted, over all of them. Members that could not be asked come first: they are news.
void sortRows(std::vector<bson::Document>& rows, std::string_view sort) {
  const bool isDescending = sort.starts_with('-');
  const std::string_view field = sort.substr(isDescending ? 1 : 0);
  std::stable_sort(rows.begin(), rows.end(), [&](const bson::Document& a, const bson::Document& b) {
    const bool isLost = a["unreachable"].ok(), isOtherLost = b["unreachable"].ok();
    if (isLost || isOtherLost) return isLost && !isOtherLost;
    const int order = bson::compareValues(a[field], b[field]);
    return isDescending ? order > 0 : order < 0;
  });
}

bson::Document detailsCommand(const std::string& path, const std::string& member) {
  return bson::doc("actorDetails", path, "node", member);
}

}  // namespace

Task<HttpResponse> AdminApi::actorsOfMembers(RowQuery query, std::string user) const {
  if (!sources_.rows) co_return errorResponse(noSet());
  bson::Document filter =
      bson::doc("type", query.filter.type, "phase", query.filter.phase, "under", query.filter.under);
  bson::Document command = bson::doc("actorTree", 1, "members", true, "filter", filter);
  auto rows = co_await sources_.rows(std::move(user), std::move(command));
  if (!rows.isOK()) co_return errorResponse(rows.status());
  const size_t total = rows->size();
  if (!query.filter.sort.empty()) sortRows(*rows, query.filter.sort);
  if (query.limit > 0 && total > query.limit) rows->resize(query.limit);
  Json list = Json::array();
  for (const bson::Document& row : *rows) list.push_back(rowJson(row));
  co_return json(Json{{"node", node_.name()},
                      {"at", isoTime(node_.environment().wallNow())},
                      {"total", total},
                      {"rows", std::move(list)}});
}

Task<HttpResponse> AdminApi::transitionsOfMembers(TransitionFilter filter, std::string user) const {
  if (!sources_.rows) co_return errorResponse(noSet());
  bson::Document command =
      bson::doc("transitionLog", 1, "members", true, "path", filter.under, "machine", filter.machine, "instance",
                filter.instance, "moves", filter.movesOnly, "limit", static_cast<int64_t>(filter.limit));
  const auto rows = co_await sources_.rows(std::move(user), std::move(command));
  if (!rows.isOK()) co_return errorResponse(rows.status());
  Json list = Json::array();
  for (const bson::Document& row : *rows) list.push_back(stepJson(row));
  co_return json(Json{{"node", node_.name()},
                      {"at", isoTime(node_.environment().wallNow())},
                      {"dropped", node_.transitions().dropped()},
                      {"transitions", std::move(list)}});
}

Task<HttpResponse> AdminApi::actorOfMember(std::string path, std::string member, std::string user) const {
  if (!sources_.run) co_return errorResponse(noSet());
  bson::Document command = detailsCommand(path, member);
  const auto details = co_await sources_.run(user, std::move(command));
  if (!details.isOK()) co_return errorResponse(details.status());
  bson::Document specification;
  const std::string parent(details->view().at("row.parent").toStringOr());
  if (!parent.empty()) {
    bson::Document above = detailsCommand(parent, member);
    const auto supervisor = co_await sources_.run(user, std::move(above));
    if (supervisor.isOK() && (*supervisor)["state"].is(bson::Type::kDocument))
      specification = specificationOf((*supervisor)["state"].asDocument(), path);
  }
  co_return json(detailsJson(*details, specification));
}

Task<AdminSources::Reply> AdminApi::controlOnMember(std::string path, std::string action, std::string why,
                                                    std::string member, std::string user) const {
  if (!sources_.run) co_return noSet();
  bson::Builder command;
  command.append("controlActor", path).append("action", action).append("node", member);
  if (!why.empty()) command.append("reason", why);
  bson::Document wanted = command.finish();
  const auto outcome = co_await sources_.run(user, std::move(wanted));
  if (!outcome.isOK()) co_return outcome.status();
  bson::Document look = detailsCommand(path, member);
  const auto details = co_await sources_.run(user, std::move(look));
  if (!details.isOK() || !(*details)["row"].is(bson::Type::kDocument)) co_return bson::Document();
  co_return bson::Document((*details)["row"].asDocument());
}

Task<HttpResponse> AdminApi::set() const {
  const bson::Document picture = co_await sources_.set();
  co_return json(toJson(picture.view()));
}

}  // namespace troupe::supervisors
